import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { foreignSign, isForeignOrigin, isLoopbackAddress } from '../http/index.ts'
import type { Refusal } from './answer.ts'

/**
 * Refuses requests that may come from a foreign web page: those with another Origin than the API's, and, against DNS
 * rebinding, those whose Host is not a loopback name. An API that other machines can reach accepts every Host.
 */
export function foreignRequest(
  headers: Pick<IncomingHttpHeaders, 'host' | 'origin'>,
  listenHost: string,
): Refusal | undefined {
  const sign = foreignSign(headers)
  const isReached = sign !== 'foreign_host' || isLoopbackAddress(listenHost)
  switch (isReached ? sign : isForeignOrigin(headers) ? 'foreign_origin' : undefined) {
    case 'foreign_host':
      return {
        status: 403,
        code: 'host_not_allowed',
        message: 'Call the admin API by a loopback name or address, such as localhost',
      }
    case 'foreign_origin':
      return {
        status: 403,
        code: 'origin_not_allowed',
        message: 'The admin API takes no requests from web pages on a different origin',
      }
    case undefined:
      return undefined
  }
}

/** Names a token in the log by a short hash, which distinguishes an old token from a new one. */
export function tokenName(token: string): string {
  return `token ${createHash('sha256').update(token).digest('hex').slice(0, 8)}`
}
