import type { IncomingMessage } from 'node:http'
import type { Clock } from '../runtime/index.ts'
import { consume } from './read-body.ts'

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
