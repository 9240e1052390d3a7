import type { IncomingMessage } from 'node:http'
import type { Clock, Timer } from '../runtime/index.ts'
import { FairBudget, type FairShare } from './fair-budget.ts'

/** How much of a request's body to keep, and how fast it must arrive. */
export interface BodyLimits {
  readonly bytesMax: number
  /** Measures the deadline and the pace. A virtual clock stands still while the body is read. */
  readonly clock: Clock
}

/** Limits of a body that shares a budget with others. */
export interface SharedBodyLimits extends BodyLimits {
  /** The body's part of the budget. The caller releases it once the bytes are no longer used. */
  readonly share: FairShare
}

/** How reading a request's body ended. `bytes` are as sent, perhaps compressed, and at most `bytesMax`. */
export type BodyReading =
  | { readonly kind: 'complete'; readonly bytes: Buffer }
  /** The body exceeds the limit. If `isRead`, the rest was read and discarded. */
  | { readonly kind: 'too_large'; readonly bytes: Buffer; readonly isRead: boolean }
  /** The body took too long, or was slower than the pace. */
  | { readonly kind: 'too_slow'; readonly bytes: Buffer }
  /** The connection ended or broke before the body did. */
  | { readonly kind: 'cut_off'; readonly bytes: Buffer }

/** The result for a body that shares a budget. If there was no room for it, nothing is kept. */
export type SharedBodyReading = BodyReading | { readonly kind: 'no_room'; readonly isRead: boolean }

/** How long a body may take to arrive. */
export const bodyDeadlineMs = 30_000

/** The minimum pace of bodies that share a budget. Slower ones are abandoned, because they hold memory. */
export const bodyPace: Consumption['pace'] & object = Object.freeze({
  everyMs: 5_000,
  bytesMin: 5 * 1_024,
})

/** Bodies are read up to this multiple of their limit: most clients read an answer only after sending everything. */
const readFactor = 16

/** Reads a body's bytes as they were sent. Never rejects. */
export function readBody(request: IncomingMessage, limits: BodyLimits): Promise<BodyReading> {
  return readInto(new KeptBytes(limits.bytesMax), request, limits)
}

/** Reads a body that shares a budget with others and must arrive at {@link bodyPace} or faster. Never rejects. */
export async function readSharedBody(
  request: IncomingMessage,
  limits: SharedBodyLimits,
): Promise<SharedBodyReading> {
  const kept = new KeptBytes(limits.bytesMax, limits.share)
  const reading = await readInto(kept, request, { ...limits, pace: bodyPace })
  if (kept.hasRoom || reading.kind === 'too_large' || reading.kind === 'cut_off') return reading
  return { kind: 'no_room', isRead: reading.kind === 'complete' }
}

/** Reads and discards the rest of a body, within the limits of {@link readSharedBody}. Never rejects. */
export function discardBody(
  request: IncomingMessage,
  limits: BodyLimits,
): Promise<SharedBodyReading> {
  return readSharedBody(request, { ...limits, share: nothing })
}

const nothing = new FairBudget(0).share('')

async function readInto(
  kept: KeptBytes,
  request: IncomingMessage,
  { bytesMax, ...limits }: BodyLimits & Pick<Consumption, 'pace'>,
): Promise<BodyReading> {
  let bytesSeen = 0
  const take = (chunk: Buffer): boolean => {
    kept.add(chunk)
    bytesSeen += chunk.length
    return bytesSeen <= readFactor * bytesMax
  }
  const end = await consume(request, { take, timeoutMs: bodyDeadlineMs, ...limits })
  const bytes = kept.bytes()
  if (bytesSeen > bytesMax) return { kind: 'too_large', bytes, isRead: end === 'ended' }
  switch (end) {
    case 'ended':
      return { kind: 'complete', bytes }
    case 'stopped':
      return { kind: 'too_slow', bytes }
    case 'cut_off':
      return { kind: 'cut_off', bytes }
  }
}

const noBytes = Buffer.alloc(0)

/** The first bytes of a body, in one buffer because many small chunks would take far more memory. */
class KeptBytes {
  readonly #bytesMax: number
  readonly #share: FairShare | undefined
  #bytes: Buffer = noBytes
  #length = 0
  #hasRoom = true

  constructor(bytesMax: number, share?: FairShare) {
    this.#bytesMax = bytesMax
    this.#share = share
  }

  /** False once the client's share was full. What was read is then dropped. */
  get hasRoom(): boolean {
    return this.#hasRoom
  }

  add(chunk: Buffer): void {
    const part = chunk.subarray(0, this.#bytesMax - this.#length)
    if (part.length === 0 || !this.#reserve(this.#length + part.length)) return
    this.#bytes.set(part, this.#length)
    this.#length += part.length
  }

  /** Returns the bytes in a buffer of exactly their size, because some are kept for a long time. */
  bytes(): Buffer {
    if (this.#length === this.#bytes.length) return this.#bytes
    return Buffer.from(this.#bytes.subarray(0, this.#length))
  }

  #reserve(length: number): boolean {
    if (!this.#hasRoom || length <= this.#bytes.length) return this.#hasRoom
    const size = Math.min(Math.max(length, 2 * this.#bytes.length), this.#bytesMax)
    if (this.#share?.take(size - this.#bytes.length) === false) {
      this.#share.release()
      this.#hasRoom = false
      this.#bytes = noBytes
      this.#length = 0
      return false
    }
    const larger = Buffer.allocUnsafeSlow(size)
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
    return true
  }
}

/** Whether more of a body may arrive. If so, close the connection: the rest would be read as the next request. */
export function isArriving(body: SharedBodyReading): boolean {
  return body.kind === 'too_slow' || ('isRead' in body && !body.isRead)
}

/** How to read a request's bytes, and for how long. */
interface Consumption {
  /** Called with every chunk; false ends the reading. */
  readonly take: (chunk: Buffer) => boolean
  readonly timeoutMs: number
  /** Reading stops if fewer than `bytesMin` arrive within `everyMs`; no minimum by default. */
  readonly pace?: { readonly everyMs: number; readonly bytesMin: number } | undefined
  readonly clock: Clock
}

/**
 * Reads a request's body. Never rejects.
 *
 * @returns `ended`: read completely; `stopped`: abandoned because of `take`, the timeout or the pace; `cut_off`: the
 *   connection closed before the end
 */
function consume(
  request: IncomingMessage,
  { take, timeoutMs, clock, pace = { everyMs: timeoutMs, bytesMin: 0 } }: Consumption,
): Promise<'ended' | 'stopped' | 'cut_off'> {
  // An `end` event that was already emitted doesn't come again.
  if (request.readableEnded) return Promise.resolve('ended')
  if (request.closed) return Promise.resolve('cut_off')
  // Don't use `finished` with a signal: it is a large part of the work for a small request. Errors need no listener,
  // because `close` follows each of them.
  return new Promise((resolve) => {
    let bytesOfPace = 0
    let timer: Timer | undefined
    const settle = (end: 'ended' | 'stopped' | 'cut_off'): void => {
      request.off('data', onData).off('end', onEnd).off('close', onClose)
      timer?.cancel()
      release()
      resolve(end)
    }
    const stop = (): void => {
      // Once its listeners are gone, an unpaused request reads on and discards everything.
      request.pause()
      settle('stopped')
    }
    const keepPace = (remainingMs: number): void => {
      timer = clock.schedule(Math.min(pace.everyMs, remainingMs), () => {
        const isOver = bytesOfPace < pace.bytesMin || remainingMs <= pace.everyMs
        bytesOfPace = 0
        if (isOver) stop()
        else keepPace(remainingMs - pace.everyMs)
      })
    }
    const onData = (chunk: Buffer): void => {
      bytesOfPace += chunk.length
      if (!take(chunk)) stop()
    }
    const onEnd = (): void => settle('ended')
    const onClose = (): void => settle('cut_off')
    const release = clock.hold()
    keepPace(timeoutMs)
    request.on('data', onData).on('end', onEnd).on('close', onClose)
    // An earlier reading may have paused the request.
    request.resume()
  })
}

/** How long to read on after an answer: several round trips, and time for the client to finish writing. */
export const lingerMs = 10_000

/** How many more bytes to read after an answer. */
export const lingerBytesMax: number = 8 * 1024 * 1024

/** Reads and discards the rest of what a client is sending. Never rejects. */
export function lingerOver(
  request: IncomingMessage,
  clock: Clock,
): Promise<'ended' | 'stopped' | 'cut_off'> {
  let bytesSeen = 0
  const take = (chunk: Buffer): boolean => {
    bytesSeen += chunk.length
    return bytesSeen <= lingerBytesMax
  }
  return consume(request, { take, timeoutMs: lingerMs, clock })
}
