import { passedOnHeaders } from '../../http/index.ts'
import type { Endpoint } from '../../model/index.ts'
import { signBody, signStandardWebhook, type RequestContent } from '../../webhook/index.ts'
import type { CapturedRequest } from './captured-request.ts'

/** What of a captured request is sent again. */
export type CapturedContent = Pick<CapturedRequest, 'headers' | 'body'>

/** The text that stands for a captured request in a store, which keeps one text for each. */
export function capturedText({ headers, body }: CapturedContent): string {
  return JSON.stringify({ headers, body })
}

/** Reads what {@link capturedText} writes. */
export function readCapturedText(text: string): CapturedContent {
  return JSON.parse(text) as CapturedContent
}

/** How a captured request is made anew. */
export interface Resigning {
  /** Signs with it; undefined to keep the signatures. */
  readonly newSecret: string | undefined
  /** The time of the request, which Standard Webhooks signs. */
  readonly nowMs: number
}

/**
 * The request that sends a captured one again: its bytes and its headers, but for those of the
 * connection, with the endpoint's static headers in place of its own of the same name. Signed again it
 * has a new X-Signature, and new headers of Standard Webhooks where it had them.
 */
export function composeCaptured(
  { headers, body }: CapturedContent,
  endpoint: Endpoint,
  { newSecret, nowMs }: Resigning,
): RequestContent {
  const kept = Object.fromEntries(passedOnHeaders(Object.entries(headers)))
  const signatures = newSecret === undefined ? {} : newSignatures(kept, body, { newSecret, nowMs })
  const added = { ...lowerCased(endpoint.headers), ...signatures }
  return { headers: { ...lowerCased(kept), ...added }, body }
}

function newSignatures(
  headers: Readonly<Record<string, string>>,
  body: string,
  { newSecret, nowMs }: { readonly newSecret: string; readonly nowMs: number },
): Readonly<Record<string, string>> {
  const signature = { 'x-signature': signBody(body, newSecret) }
  const id = headers['webhook-id']
  if (id === undefined || headers['webhook-signature'] === undefined) return signature
  const timestamp = Math.floor(nowMs / 1_000)
  return {
    ...signature,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signStandardWebhook({ id, timestamp, body }, newSecret),
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}
