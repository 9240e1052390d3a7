import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { foreignSign } from '../http/index.ts'
import type { Refusal } from './answer.ts'

/**
 * Refuses requests that a web page may have made: those that call the API by a name which is not
 * loopback, because a foreign name can be made to lead here (DNS rebinding), and those with an Origin
 * that is not the API's own.
 *
 * @returns undefined when there is nothing to refuse
 */
export function foreignRequest(
  headers: Pick<IncomingHttpHeaders, 'host' | 'origin'>,
): Refusal | undefined {
  switch (foreignSign(headers)) {
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

/**
 * Makes the check of the Authorization header; it takes as long whatever the header holds.
 *
 * @returns whether the header carries the token
 */
export function tokenCheck(token: string): (authorization: string | undefined) => boolean {
  const expected = digest(Buffer.from(token))
  return (authorization = '') => {
    // Node reads the bytes of headers as Latin-1.
    const [, given = ''] = /^Bearer +(.+)$/i.exec(authorization) ?? []
    return timingSafeEqual(digest(Buffer.from(given, 'latin1')), expected)
  }
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}
