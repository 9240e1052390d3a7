import { createHash, createHmac } from 'node:crypto'

/** A webhook that is not signed yet. */
export interface OutgoingWebhook {
  /** The exact text to send and sign. */
  readonly body: string
  /** The event's messageId. The body of a delete notification does not contain it. */
  readonly messageId: string
  /** Extra headers for this request only. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Keys for Standard Webhooks signatures. */
export interface StandardWebhooksSigning {
  /** At least one, newest first. Each adds a signature; see {@link signStandardWebhook} for their format. */
  readonly secrets: readonly string[]
}

/** Longer ids are sent as a hash, because many servers limit the headers of a request to 8 KB. */
const idLengthMax = 256

/** Makes the headers of Standard Webhooks 1.0.0. `nowMs` is the time of this attempt, not of the first one. */
export function standardWebhooksHeaders(
  { body, messageId }: OutgoingWebhook,
  { secrets }: StandardWebhooksSigning,
  nowMs: number,
) {
  const content = { id: webhookId(messageId), timestamp: Math.floor(nowMs / 1_000), body }
  return {
    'webhook-id': content.id,
    'webhook-timestamp': String(content.timestamp),
    'webhook-signature': secrets.map((secret) => signStandardWebhook(content, secret)).join(' '),
  }
}

/**
 * Encodes a messageId for `webhook-id`. Percent-encodes `%`, `.` and all characters that are not visible ASCII, in
 * UTF-8 as for `decodeURIComponent`. The signed content needs `.` as its separator. If the result exceeds 256
 * characters, returns `sha256_` and the hexadecimal SHA-256 of the messageId instead.
 */
export function webhookId(messageId: string): string {
  const id = messageId.replace(/(?:[^!-~]|[.%])+/g, percentEncode)
  if (id.length <= idLengthMax) return id
  return `sha256_${createHash('sha256').update(messageId).digest('hex')}`
}

/**
 * Signs by Standard Webhooks: HMAC-SHA256 of id, timestamp and body, joined by full stops. The id and the timestamp, in
 * whole seconds since 1970, are also sent as headers.
 *
 * @param secret - `whsec_` and the base64 of the key, or any other text, whose UTF-8 bytes are the key
 * @returns `v1,` and the signature in base64
 */
export function signStandardWebhook(
  {
    id,
    timestamp,
    body,
  }: { readonly id: string; readonly timestamp: number; readonly body: string },
  secret: string,
): string {
  const content = `${id}.${timestamp}.${body}`
  return `v1,${createHmac('sha256', keyOf(secret)).update(content).digest('base64')}`
}

function percentEncode(text: string): string {
  return Buffer.from(text).toString('hex').toUpperCase().replace(/../g, '%$&')
}

function keyOf(secret: string): Buffer {
  const [, base64] = /^whsec_(.+)$/.exec(secret) ?? []
  const decoded = Buffer.from(base64 ?? '', 'base64')
  // Buffer decodes invalid base64 to a different or empty key, without an error.
  const isEncoded = base64 !== undefined && decoded.toString('base64') === base64
  return isEncoded ? decoded : Buffer.from(secret)
}
