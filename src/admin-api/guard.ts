import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { foreignSign, isForeignOrigin, isLoopbackAddress } from '../http/index.ts'
import type { Refusal } from './answer.ts'

/**
 * Refuses requests that a web page may have made: those that call the API by a name which is not
 * loopback, because a foreign name can be made to lead here (DNS rebinding), and those with an Origin
 * that is not the API's own. An API that listens to other machines is called by any name: tokens and
 * cookies protect it.
 *
 * @param listenHost - the address that the API listens on
 * @returns undefined when there is nothing to refuse
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
        message: 'The admin API is called by a loopback name or address',
      }
    case 'foreign_origin':
      return {
        status: 403,
        code: 'origin_not_allowed',
        message: 'The admin API takes no requests of web pages of another origin',
      }
    case undefined:
      return undefined
  }
}

/** Names a token in the log, so that an operator can tell an old one from a new one. */
export function tokenName(token: string): string {
  return `token ${createHash('sha256').update(token).digest('hex').slice(0, 8)}`
}
