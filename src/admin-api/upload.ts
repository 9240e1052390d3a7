import type { IncomingMessage } from 'node:http'
import { sleep, type Clock } from '../runtime/index.ts'

/** How long to wait for the next chunk of an upload. */
export const uploadIdleMs = 30_000

/** Compressed uploads are read in pieces of this size, because each can decompress to a thousand times its size. */
const compressedBytesAtOnce = 1024

/** The first byte of gzip; no text begins with it. */
const gzipFirstByte = 0x1f

/** Thrown for an incomplete upload. */
export class UploadError extends Error {
  override readonly name = 'UploadError'
  /** `body_too_slow`: nothing arrived in time; `cut_off`: the connection ended or broke. */
  readonly code: 'body_too_slow' | 'cut_off'

  constructor(code: UploadError['code']) {
    super(
      code === 'cut_off'
        ? 'The connection ended before the body did'
        : `The body did not arrive in time: no data for ${uploadIdleMs / 1_000} s`,
    )
    this.code = code
  }
}

interface UploadOptions {
  readonly clock: Clock
  /** Awaited before each piece, so that answers don't pile up while the client reads nothing. */
  readonly drained: () => Promise<void>
}

/** A request's body of any length. Reads a chunk only when asked for one, and waits {@link uploadIdleMs} at most. */
export class Upload implements AsyncIterable<Uint8Array> {
  readonly #request: IncomingMessage
  readonly #options: UploadOptions
  #error: UploadError | undefined

  constructor(request: IncomingMessage, options: UploadOptions) {
    this.#request = request
    this.#options = options
  }

  get error(): UploadError | undefined {
    return this.#error
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    const { drained } = this.#options
    // Destroying the request would also destroy the connection, on which the answer is still to be sent.
    const chunks = this.#request.iterator({ destroyOnReturn: false })
    let bytesAtOnce: number | undefined
    for (;;) {
      await drained()
      const chunk = await this.#inTime(chunks.next())
      if (chunk === undefined) return
      bytesAtOnce ??= chunk[0] === gzipFirstByte ? compressedBytesAtOnce : Infinity
      yield chunk.subarray(0, bytesAtOnce)
      for (let start = bytesAtOnce; start < chunk.length; start += bytesAtOnce) {
        await drained()
        yield chunk.subarray(start, start + bytesAtOnce)
      }
    }
  }

  async #inTime(reading: Promise<IteratorResult<Buffer, unknown>>): Promise<Buffer | undefined> {
    const { clock } = this.#options
    const release = clock.hold()
    const isRead = new AbortController()
    try {
      const late = sleep(clock, uploadIdleMs, isRead.signal)
      const read = await Promise.race([reading.catch(() => 'cut_off' as const), late])
      if (typeof read === 'object') return read.done === true ? undefined : read.value
      this.#error = new UploadError(read === 'cut_off' ? read : 'body_too_slow')
      throw this.#error
    } finally {
      isRead.abort()
      release()
    }
  }
}
