import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream/promises'
import type { Clock } from '../runtime/index.ts'

/** How much of a request's body is kept, and the clock of its deadline. */
export interface BodyLimits {
  /** Bytes that the body may have. */
  readonly bytesMax: number
  /** Measures the deadline; held while the body is read. */
  readonly clock: Clock
}

/**
 * How reading a request's body ended. `bytes` are those that arrived within the limit, as they came
 * over the wire, never inflated.
 */
export type BodyReading =
  /** All of it is there. */
  | { readonly kind: 'complete'; readonly bytes: Buffer }
  /** It passed the limit, however it ended; `isRead`: the rest came too, and was thrown away. */
  | { readonly kind: 'too_large'; readonly bytes: Buffer; readonly isRead: boolean }
  /** It took longer than the deadline. */
  | { readonly kind: 'too_slow'; readonly bytes: Buffer }
  /** The connection ended or broke before the body did. */
  | { readonly kind: 'cut_off'; readonly bytes: Buffer }

/** How long a client may take over its body. */
export const bodyDeadlineMs = 30_000

/**
 * How much of a body is read for every byte that may be kept. What is over the limit is thrown away:
 * most clients look for their answer when they have written all, and can use the connection again.
 */
const readFactor = 16

/** Reads a body byte for byte, whatever its type and encoding. Never rejects. */
export async function readBody(
  request: IncomingMessage,
  { bytesMax, clock }: BodyLimits,
): Promise<BodyReading> {
  const chunks: Buffer[] = []
  let bytesSeen = 0
  const take = (chunk: Buffer): boolean => {
    const room = bytesMax - bytesSeen
    if (room > 0) chunks.push(chunk.subarray(0, room))
    bytesSeen += chunk.length
    return bytesSeen <= readFactor * bytesMax
  }
  const end = await consume(request, { take, timeoutMs: bodyDeadlineMs, clock })
  const bytes = Buffer.concat(chunks)
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

/**
 * Whether more of a body may come. That cannot be told from a next request: the connection must end
 * with the answer.
 */
export function isArriving(body: BodyReading): boolean {
  return body.kind === 'too_slow' || (body.kind === 'too_large' && !body.isRead)
}

/** What becomes of a request's bytes, and for how long they are read. */
export interface Consumption {
  /** Is given every chunk; false ends the reading. */
  readonly take: (chunk: Buffer) => boolean
  /** After it the reading ends too, in milliseconds. */
  readonly timeoutMs: number
  /** Measures the time; held meanwhile. */
  readonly clock: Clock
}

/**
 * Reads what comes of a request. Never rejects.
 *
 * @returns `ended`: with all of it; `stopped`: before that; `cut_off`: the connection ended or broke
 */
export async function consume(
  request: IncomingMessage,
  { take, timeoutMs, clock }: Consumption,
): Promise<'ended' | 'stopped' | 'cut_off'> {
  const stop = new AbortController()
  const onData = (chunk: Buffer): void => {
    if (!take(chunk)) stop.abort()
  }
  const timer = clock.schedule(timeoutMs, () => stop.abort())
  const release = clock.hold()
  request.on('data', onData)
  // It was paused if it was read before.
  request.resume()
  try {
    await finished(request, { signal: stop.signal })
    return 'ended'
  } catch {
    if (!stop.signal.aborted) return 'cut_off'
    // Without a listener it would go on and throw everything away.
    request.pause()
    return 'stopped'
  } finally {
    request.off('data', onData)
    timer.cancel()
    release()
  }
}
