import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream/promises'
import { limits } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'

/** How reading a request's body ended, and the bytes that arrived within the limit. */
export interface BodyReading {
  /**
   * `complete`: all of it is there; `too_large`: it passed the limit of 1 MB; `too_slow`: it took
   * more than 30 s; `cut_off`: the connection ended or broke before the body did.
   */
  readonly kind: 'complete' | 'too_large' | 'too_slow' | 'cut_off'
  /** The bytes as they came over the wire, never inflated: at most 1 MB. */
  readonly bytes: Buffer
}

/** How long a sender may take over its body. */
export const bodyDeadlineMs = 30_000

/**
 * How much of a body that is too large is read and thrown away: a sender that is cut off while it
 * still writes may never see its answer.
 */
const discardBytesMax = 16 * limits.webhookBytesMax

/** Reads a body byte for byte, whatever its type and encoding. Never rejects. */
export async function readBody(request: IncomingMessage, clock: Clock): Promise<BodyReading> {
  const body = new LimitedBytes(limits.webhookBytesMax)
  const stop = new AbortController()
  const take = (chunk: Buffer): void => {
    body.push(chunk)
    if (body.bytesSeen > discardBytesMax) stop.abort()
  }
  const timer = clock.schedule(bodyDeadlineMs, () => stop.abort())
  const release = clock.hold()
  request.on('data', take)
  try {
    await finished(request, { signal: stop.signal })
    return { kind: body.overflows ? 'too_large' : 'complete', bytes: body.concat() }
  } catch {
    const kind = stop.signal.aborted ? 'too_slow' : 'cut_off'
    return { kind: body.overflows ? 'too_large' : kind, bytes: body.concat() }
  } finally {
    request.off('data', take)
    timer.cancel()
    release()
  }
}

/** Keeps the first bytes of a stream and counts all of them. */
class LimitedBytes {
  readonly #bytesMax: number
  readonly #chunks: Buffer[] = []
  #bytesSeen = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytesSeen(): number {
    return this.#bytesSeen
  }

  get overflows(): boolean {
    return this.#bytesSeen > this.#bytesMax
  }

  push(chunk: Buffer): void {
    const room = this.#bytesMax - this.#bytesSeen
    if (room > 0) this.#chunks.push(chunk.subarray(0, room))
    this.#bytesSeen += chunk.length
  }

  concat(): Buffer {
    return Buffer.concat(this.#chunks)
  }
}
