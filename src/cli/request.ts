import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { parseJson } from '../model/index.ts'

/** A request to a service or a receiver. */
interface HttpRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** Aborts the request and its answer. */
  readonly signal: AbortSignal
  /** The pieces of the body; none by default. */
  readonly body?: Iterable<string> | AsyncIterable<Uint8Array>
}

/**
 * Sends a request. Resolves as soon as the answer begins, which may be before the body has been sent. Has no
 * timeout of its own, and follows no redirect, which could take a token to another host.
 */
export function sendRequest(
  url: URL,
  { body = [], ...options }: HttpRequest,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    // Keep listening for errors: after the answer has begun, they make the answer fail too.
    const request = send(url, options).on('response', resolve).on('error', reject)
    pipeline(Readable.from(body), request).catch((error: unknown) =>
      request.destroy(error as Error),
    )
  })
}

/** An answer. */
export interface JsonReply {
  readonly status: number
  /** The parsed body; undefined if it is not JSON. */
  readonly body: unknown
}

/** Reads the rest of an answer. */
export async function jsonReply(response: IncomingMessage): Promise<JsonReply> {
  return { status: response.statusCode ?? 0, body: parseJson(await text(response)) }
}
