import { passedOnHeaders } from '../../http/index.ts'
import type { Endpoint } from '../../model/index.ts'
import { signBody, signStandardWebhook, type RequestContent } from '../../webhook/index.ts'
import type { CapturedRequest } from './captured-request.ts'

/** The parts of a captured request that are sent again. */
export type CapturedContent = Pick<CapturedRequest, 'headers' | 'body'>

/** Serialises a captured request: a store keeps one text per delivery. */
export function capturedText({ headers, body }: CapturedContent): string {
  return JSON.stringify({ headers, body })
}

/** Parses the text of {@link capturedText}. */
export function readCapturedText(text: string): CapturedContent {
  return JSON.parse(text) as CapturedContent
}

/** How to sign a captured request again. */
export interface Resigning {
  /** The new secret; undefined to keep the signatures. */
  readonly newSecret: string | undefined
  /** The current time, which Standard Webhooks signs. */
  readonly nowMs: number
}

/**
 * Composes the request that sends a captured one again. It has the same body and the same headers, except for
 * connection headers. Static headers of the endpoint replace captured headers of the same name. If it is
 * signed again, it gets a new X-Signature, and new Standard Webhooks headers if it had them.
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
