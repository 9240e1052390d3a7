import type { IncomingMessage } from 'node:http'
import type { Clock } from '../runtime/index.ts'

/** How long to wait for the next chunk of an upload. */
export const uploadIdleMs = 30_000

/** Size of the pieces of a compressed upload. One can decompress to a thousand times its size. */
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

/**
 * The body of a request, of any length. Reads a chunk only when the consumer asks for it, and limits the time of each
 * read.
 */
export class Upload implements AsyncIterable<Uint8Array> {
  readonly #request: IncomingMessage
  readonly #options: UploadOptions
  #error: UploadError | undefined

  constructor(request: IncomingMessage, options: UploadOptions) {
    this.#request = request
    this.#options = options
  }

  /** Why the upload is incomplete; undefined if no error has occurred. */
  get error(): UploadError | undefined {
    return this.#error
  }

  /** @throws UploadError for an incomplete upload */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    const { drained } = this.#options
    let bytesAtOnce: number | undefined
    for (;;) {
      await drained()
      const chunk = await this.#next()
      if (chunk === undefined) return
      bytesAtOnce ??= chunk[0] === gzipFirstByte ? compressedBytesAtOnce : Infinity
      yield* this.#pieces(chunk, bytesAtOnce)
    }
  }

  async *#pieces(chunk: Buffer, bytesAtOnce: number): AsyncGenerator<Uint8Array, void> {
    yield chunk.subarray(0, bytesAtOnce)
    for (let start = bytesAtOnce; start < chunk.length; start += bytesAtOnce) {
      await this.#options.drained()
      yield chunk.subarray(start, start + bytesAtOnce)
    }
  }

  async #next(): Promise<Buffer | undefined> {
    try {
      return await nextChunk(this.#request, this.#options.clock)
    } catch (error) {
      if (error instanceof UploadError) this.#error = error
      throw error
    }
  }
}

/** Waits for the next chunk of a request, then pauses the request. Throws UploadError. */
function nextChunk(request: IncomingMessage, clock: Clock): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    if (request.destroyed && !request.readableEnded) {
      reject(new UploadError('cut_off'))
      return
    }
    if (request.readableEnded) {
      resolve(undefined)
      return
    }
    const stop = (): void => {
      request.off('data', settle).off('end', settle).off('close', onClose).pause()
      timer.cancel()
      release()
    }
    const settle = (chunk?: Buffer): void => {
      stop()
      resolve(chunk)
    }
    const fail = (code: UploadError['code']): void => {
      stop()
      reject(new UploadError(code))
    }
    const onClose = (): void => fail('cut_off')
    const timer = clock.schedule(uploadIdleMs, () => fail('body_too_slow'))
    const release = clock.hold()
    request.on('data', settle).on('end', settle).on('close', onClose).resume()
  })
}
