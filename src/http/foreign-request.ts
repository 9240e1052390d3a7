import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { parseUrl } from '../model/index.ts'

/** What shows that a web page may have made a request: its Host or its Origin. */
export type ForeignSign = 'foreign_host' | 'foreign_origin'

/** A name or an address, with a port or without. */
const hostShape = /^(?:\[[\da-f:.]+\]|[^\s/@?#\\:[\]]+)(?::\d{1,5})?$/i

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/**
 * Tells requests that a web page may have made: those by a name which is not loopback, because a
 * foreign name can be made to lead here (DNS rebinding), and those with an Origin that is not the
 * server's own.
 *
 * @returns undefined when it is no such request
 */
export function foreignSign({
  host,
  origin,
}: Pick<IncomingHttpHeaders, 'host' | 'origin'>): ForeignSign | undefined {
  if (!isLoopbackHost(host)) return 'foreign_host'
  return isForeignOrigin({ host, origin }) ? 'foreign_origin' : undefined
}

/** Whether a web page of another origin made a request, by whatever name it came. */
export function isForeignOrigin({
  host = '',
  origin,
}: Pick<IncomingHttpHeaders, 'host' | 'origin'>): boolean {
  return origin !== undefined && !isOwnOrigin(origin, host)
}

/** Whether a name or an address, as one listens on it, is reached from this machine only. */
export function isLoopbackAddress(host: string): boolean {
  return isLoopbackHost(isIP(host) === 6 ? `[${host}]` : host)
}

function isLoopbackHost(host: string | undefined): boolean {
  const name = host === undefined ? undefined : nameOf(host)
  return name !== undefined && isLoopback(name)
}

/** The name or address of a Host header, as URLs write it: in lower case, an address in its short form. */
function nameOf(host: string): string | undefined {
  if (!hostShape.test(host) || parseUrl(`http://${host}`) === undefined) return undefined
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
  if (!/^https?:\/\//i.test(origin) || parseUrl(origin) === undefined) return false
  const { protocol, host: originHost } = new URL(origin)
  const own = `${protocol}//${host}`
  return parseUrl(own) !== undefined && originHost === new URL(own).host
}
