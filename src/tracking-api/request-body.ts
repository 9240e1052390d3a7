import type { IncomingMessage } from 'node:http'
import {
  type BodyTurns,
  discardBody,
  isArriving,
  readSharedBody,
  type FairShare,
  type SharedBodyReading,
} from '../http/index.ts'
import type { Clock } from '../runtime/index.ts'
import { refuse, type Refusal } from './answer.ts'
import { batchTooLarge, crowded, decodeBody, wireBytesMax, type Document } from './decode-body.ts'

interface BodyOptions {
  readonly clock: Clock
  /** The body's part of the budget. The caller releases it once the bytes are no longer used. */
  readonly share: FairShare
  readonly turns: BodyTurns
}

/** The body of one request. It is discarded unless `document` is called. */
export class RequestBody {
  readonly #request: IncomingMessage
  readonly #options: BodyOptions
  #reading: SharedBodyReading | undefined

  constructor(request: IncomingMessage, options: BodyOptions) {
    this.#request = request
    this.#options = options
  }

  /** Reads and parses the body; `cut_off` if the client disconnected before its end. */
  async document(): Promise<Document | Refusal | { readonly kind: 'cut_off' }> {
    const { clock, share, turns } = this.#options
    const body = await readSharedBody(this.#request, { bytesMax: wireBytesMax, clock, share })
    this.#reading = body
    switch (body.kind) {
      case 'complete':
        await turns.wait(body.bytes.length)
        return decodeBody(body.bytes, {
          contentEncoding: this.#request.headers['content-encoding'],
          share,
        })
      case 'too_large':
        return batchTooLarge()
      case 'no_room':
        return crowded()
      case 'too_slow':
        return refuse('body_too_slow', 'The body took too long to arrive')
      case 'cut_off':
        return body
    }
  }

  /** Discards the rest of the body. Returns `arriving` if the client is still sending. */
  async end(): Promise<'read' | 'arriving' | 'cut_off'> {
    const { clock } = this.#options
    this.#reading ??= await discardBody(this.#request, { bytesMax: wireBytesMax, clock })
    if (this.#reading.kind === 'cut_off') return 'cut_off'
    return isArriving(this.#reading) ? 'arriving' : 'read'
  }
}
