import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'
import type { Refusal } from './answer.ts'

/** A name or an address, with a port or without. */
const hostShape = /^(?:\[[\da-f:.]+\]|[^\s/@?#\\:[\]]+)(?::\d{1,5})?$/i

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/**
 * Refuses requests that a web page may have made: those that call the API by a name which is not
 * loopback, because a foreign name can be made to lead here (DNS rebinding), and those with an Origin
 * that is not the API's own.
 *
 * @returns undefined when there is nothing to refuse
 */
export function foreignRequest({
  host,
  origin,
}: Pick<IncomingHttpHeaders, 'host' | 'origin'>): Refusal | undefined {
  if (!isLoopbackHost(host)) {
    return {
      status: 403,
      code: 'host_not_allowed',
      message: 'The admin API is called by a loopback name or address',
    }
  }
  if (origin === undefined || isOwnOrigin(origin, host ?? '')) return undefined
  return {
    status: 403,
    code: 'origin_not_allowed',
    message: 'The admin API takes no requests of web pages of another origin',
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

function isLoopbackHost(host: string | undefined): boolean {
  const name = host === undefined ? undefined : nameOf(host)
  return name !== undefined && isLoopback(name)
}

/** The name or address of a Host header, as URLs write it: in lower case, an address in its short form. */
function nameOf(host: string): string | undefined {
  if (!hostShape.test(host) || !URL.canParse(`http://${host}`)) return undefined
  return new URL(`http://${host}`).hostname
}

function isLoopback(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost')) return true
  const address = name.replace(/^\[(.*)\]$/, '$1')
  const version = isIP(address)
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** A proxy may speak https in front, so the scheme is not compared. */
function isOwnOrigin(origin: string, host: string): boolean {
  if (!/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return false
  const { protocol, host: originHost } = new URL(origin)
  return originHost === new URL(`${protocol}//${host}`).host
}
