import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { foreignSign, isForeignOrigin, isLoopbackAddress } from '../http/index.ts'
import type { Refusal } from './answer.ts'

/**
 * Refuses a request that may come from a foreign web page: its Origin differs from that of the API, or its Host is not
 * a loopback name (against DNS rebinding). An API that other machines can reach accepts every Host.
 */
export function foreignRequest(
  headers: Pick<IncomingHttpHeaders, 'host' | 'origin'>,
  listenHost: string,
): Refusal | undefined {
  if (isLoopbackAddress(listenHost) && foreignSign(headers) === 'foreign_host') {
    const message = 'Call the admin API by a loopback name or address, such as localhost'
    return { status: 403, code: 'host_not_allowed', message }
  }
  if (!isForeignOrigin(headers)) return undefined
  const message = 'The admin API takes no requests from web pages on a different origin'
  return { status: 403, code: 'origin_not_allowed', message }
}

/** Names a token in the log by a short hash, which distinguishes an old token from a new one. */
export function tokenName(token: string): string {
  return `token ${createHash('sha256').update(token).digest('hex').slice(0, 8)}`
}
