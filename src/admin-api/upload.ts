import type { IncomingMessage } from 'node:http'
import type { Clock } from '../runtime/index.ts'

/** How long nothing of an upload may arrive while somebody waits for it. */
export const uploadIdleMs = 30_000

/**
 * Bytes of an upload that are given at once where it is compressed: they may become a thousand times as
 * many, and cause answers to each of their rows.
 */
const compressedBytesAtOnce = 1024

/** The first byte of gzip; no text begins with it. */
const gzipFirstByte = 0x1f

/** Why an upload did not come to its end. */
export class UploadError extends Error {
  override readonly name = 'UploadError'
  /** `body_too_slow`: nothing came for too long; `cut_off`: the connection ended or broke. */
  readonly code: 'body_too_slow' | 'cut_off'

  constructor(code: UploadError['code']) {
    super(
      code === 'cut_off'
        ? 'The connection ended before the body did'
        : `The body did not come in time: there was nothing for ${uploadIdleMs / 1_000} s`,
    )
    this.code = code
  }
}

/** How an upload is read. */
export interface UploadOptions {
  /** Measures how long nothing arrives; held meanwhile. */
  readonly clock: Clock
  /** Awaited before more is given: who reads on causes answers, which somebody has to take. */
  readonly drained: () => Promise<void>
}

/**
 * The body of a request of any length, read as it is asked for. Until it is asked for, nothing is read
 * and no time is measured.
 */
export class Upload implements AsyncIterable<Uint8Array> {
  readonly #request: IncomingMessage
  readonly #options: UploadOptions
  #error: UploadError | undefined

  constructor(request: IncomingMessage, options: UploadOptions) {
    this.#request = request
    this.#options = options
  }

  /** Why it did not come to its end; undefined as long as it may. */
  get error(): UploadError | undefined {
    return this.#error
  }

  /** @throws UploadError when it does not come to its end */
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

  /** The next that arrives; undefined at the end. */
  async #next(): Promise<Buffer | undefined> {
    try {
      return await nextChunk(this.#request, this.#options.clock)
    } catch (error) {
      if (error instanceof UploadError) this.#error = error
      throw error
    }
  }
}

/**
 * Waits for the next chunk of a request, and lets nothing more arrive after it.
 *
 * @throws UploadError
 */
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
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause()
      timer.cancel()
      release()
    }
    const onData = (chunk: Buffer): void => {
      stop()
      resolve(chunk)
    }
    const onEnd = (): void => {
      stop()
      resolve(undefined)
    }
    const onClose = (): void => {
      stop()
      reject(new UploadError('cut_off'))
    }
    const timer = clock.schedule(uploadIdleMs, () => {
      stop()
      reject(new UploadError('body_too_slow'))
    })
    const release = clock.hold()
    request.on('data', onData).on('end', onEnd).on('close', onClose).resume()
  })
}
