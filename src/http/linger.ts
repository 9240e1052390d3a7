import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../runtime/index.ts'
import { consume } from './read-body.ts'

/** How long a connection lingers: several round trips, and time for the client to finish writing. */
export const lingerMs = 10_000

/** Upper bound of the bytes read meanwhile. */
export const lingerBytesMax: number = 8 * 1024 * 1024

/**
 * Sends the body of a response whose request is still arriving, and ends the connection only when the
 * client has written the rest, or too much, or for too long. To close at once would reset a client that
 * is writing, and the reset may overtake the answer; nginx calls this `lingering_close`. Never rejects.
 *
 * The head is set already: `Content-Length`, so that the answer is whole before the connection ends,
 * and `Connection: close`.
 */
export async function endLingering(
  response: ServerResponse,
  body: string | Buffer,
  clock: Clock,
): Promise<void> {
  response.write(body)
  await lingerOver(response.req, clock)
  response.end()
}

/**
 * Reads and discards the rest that a client writes. Never rejects.
 *
 * @returns `stopped` if it was too much or took too long
 */
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
