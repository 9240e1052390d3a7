import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream/promises'
import type { Clock } from '../runtime/index.ts'
import { batchBytesMax } from './decode-body.ts'

/** A request's body as it came over the wire. */
export type WireBody =
  | { readonly kind: 'complete'; readonly bytes: Buffer }
  /**
   * `too_large`: it passed the limit, and was read to its end or not; `too_slow`: it took longer than
   * the deadline; `cut_off`: the connection ended before the body did.
   */
  | { readonly kind: 'too_large'; readonly isRead: boolean }
  | { readonly kind: 'too_slow' }
  | { readonly kind: 'cut_off' }

/** How long a client may take over its body. */
export const bodyDeadlineMs = 30_000

/** What cannot be compressed grows a little when it is: room for that beside the limit of a batch. */
const gzipOverheadBytes = 4_096

/** Bytes of a body that are kept. */
export const wireBytesMax: number = batchBytesMax + gzipOverheadBytes

/**
 * How much of a body that is too large is read and thrown away: a client that is cut off while it
 * still writes may never see its answer.
 */
const discardBytesMax = 16 * wireBytesMax

/** Reads a body byte for byte, whatever its type and encoding. Never rejects. */
export async function readBody(request: IncomingMessage, clock: Clock): Promise<WireBody> {
  const chunks: Buffer[] = []
  let bytesSeen = 0
  const stop = new AbortController()
  const take = (chunk: Buffer): void => {
    bytesSeen += chunk.length
    if (bytesSeen <= wireBytesMax) chunks.push(chunk)
    else chunks.length = 0
    if (bytesSeen > discardBytesMax) stop.abort()
  }
  const timer = clock.schedule(bodyDeadlineMs, () => stop.abort())
  request.on('data', take)
  const isTooLarge = (): boolean => bytesSeen > wireBytesMax
  try {
    await finished(request, { signal: stop.signal })
    return isTooLarge()
      ? { kind: 'too_large', isRead: true }
      : { kind: 'complete', bytes: Buffer.concat(chunks) }
  } catch {
    if (!stop.signal.aborted) return { kind: 'cut_off' }
    return isTooLarge() ? { kind: 'too_large', isRead: false } : { kind: 'too_slow' }
  } finally {
    request.off('data', take)
    timer.cancel()
  }
}
