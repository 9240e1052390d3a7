import type { IncomingMessage } from 'node:http'
import { BodyTurns, foreignSign, isForeignOrigin, readBody } from '../http/index.ts'
import type { SignatureVerdict } from '../match/index.ts'
import { limits } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'
import { malformed, readWebhook, type Reading } from './read-webhook.ts'
import type { RefusalCode, WithheldReason } from './received-event.ts'
import type { ReceiverSettings } from './settings.ts'
import {
  signatureJudge,
  uncheckedSignature,
  type SignatureJudge,
  type SignatureJudgement,
} from './signature.ts'

/** A request that was read, and what was found out about it. */
export type Inspection = Awaited<ReturnType<RequestReader['read']>>

interface Contents extends Reading {
  readonly signature: SignatureJudgement
  /** The bytes of the body that arrived, at most 1 MB. */
  readonly rawBody: Buffer
}

/** Reads requests, and checks their origins, signatures and bodies. */
export class RequestReader {
  readonly #judge: SignatureJudge | undefined
  readonly #turns = new BodyTurns()
  readonly #clock: Clock
  readonly #allowUnverified: boolean

  constructor({ secret, otherSecrets, runtime, forwarding }: ReceiverSettings) {
    this.#judge = secret === undefined ? undefined : signatureJudge({ secret, otherSecrets })
    this.#clock = runtime.clock
    this.#allowUnverified = forwarding.allowUnverified
  }

  async read(request: IncomingMessage) {
    const headers = headersOf(request)
    const contents = await this.#contentsOf(request, headers)
    const verdict = this.#judge === undefined ? undefined : contents.signature.verdict
    /** Why the request must not be passed on; null if it may be. */
    const withheld = this.#allowUnverified ? null : withheldReason(request, verdict)
    return { ...contents, headers, withheld }
  }

  async #contentsOf(
    request: IncomingMessage,
    headers: Readonly<Record<string, string>>,
  ): Promise<Contents> {
    const { method = '' } = request
    if (method !== 'POST') {
      const message = `The request is a ${method}: webhooks are sent with POST`
      return refused(Buffer.alloc(0), 'method_not_allowed', message)
    }
    const clock = this.#clock
    const { kind, bytes } = await readBody(request, { bytesMax: limits.webhookBytesMax, clock })
    switch (kind) {
      case 'complete': {
        await this.#turns.wait(bytes.length)
        const signature = headers['x-signature']
        const suspect = { body: bytes, signature, headers }
        return {
          ...readWebhook(bytes),
          signature: this.#judge?.(suspect, clock.nowMs()) ?? uncheckedSignature,
          rawBody: bytes,
        }
      }
      case 'too_large':
        return refused(bytes, 'body_too_large', 'The body is larger than 1 MB')
      case 'too_slow':
        return refused(bytes, 'body_too_slow', 'The body did not arrive within 30 s')
      case 'cut_off':
        return refused(bytes, 'incomplete_body', `The body was cut off after ${bytes.length} bytes`)
    }
  }
}

function refused(rawBody: Buffer, code: RefusalCode, message: string): Contents {
  return { ...malformed(code, message), signature: uncheckedSignature, rawBody }
}

/**
 * Any web page in a browser can send requests to this machine. A POST from a page has an `Origin`. A GET or HEAD has
 * none. It has no `Sec-Fetch-Site` either if the page's host name resolves to this machine (DNS rebinding). So the Host
 * of a GET or HEAD must be a loopback name. A POST without an `Origin` may have any Host, because tunnels send any.
 */
function withheldReason(
  { method, headers }: IncomingMessage,
  signature: SignatureVerdict | undefined,
): WithheldReason | null {
  const isForeign =
    method === 'POST' && headers.origin === undefined
      ? isForeignOrigin(headers)
      : foreignSign(headers) !== undefined
  if (isForeign) return 'foreign_origin'
  return signature === undefined || signature === 'valid' ? null : 'signature_not_valid'
}

/** Returns a request's headers with lower-case names. Joins the values of a repeated header. */
export function headersOf(request: IncomingMessage): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const [name, value = ''] of Object.entries(request.headers)) {
    headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return Object.freeze(headers)
}
