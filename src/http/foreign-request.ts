import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { parseUrl } from '../model/index.ts'
import { isLocalName } from './name-source.ts'

/** Which header, Host or Origin, shows that a web page may have made a request. */
type ForeignSign = 'foreign_host' | 'foreign_origin'

const hostShape = /^(?:\[[\da-f:.]+\]|[^\s/@?#\\:[\]]+)(?::\d{1,5})?$/i

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/**
 * Recognises requests that a web page may have made: those with an Origin other than the server's, and those with a
 * Host that is not loopback, because a foreign name can be made to resolve to this machine (DNS rebinding).
 */
export function foreignSign({
  host,
  origin,
}: Pick<IncomingHttpHeaders, 'host' | 'origin'>): ForeignSign | undefined {
  if (!isLoopbackHost(host)) return 'foreign_host'
  return isForeignOrigin({ host, origin }) ? 'foreign_origin' : undefined
}

/** Whether a web page from another origin made a request, whatever the request's Host. */
export function isForeignOrigin({
  host = '',
  origin,
}: Pick<IncomingHttpHeaders, 'host' | 'origin'>): boolean {
  return origin !== undefined && !isOwnOrigin(origin, host)
}

/** Whether an address to listen on, or its host name, can be reached only from this machine. */
export function isLoopbackAddress(host: string): boolean {
  return isLoopbackHost(isIP(host) === 6 ? `[${host}]` : host)
}

function isLoopbackHost(host: string | undefined): boolean {
  const name = host === undefined ? undefined : nameOf(host)
  return name !== undefined && isLoopback(name)
}

/** Returns the name or address of a Host header as URLs write it: in lower case, an address in its short form. */
function nameOf(host: string): string | undefined {
  if (!hostShape.test(host) || parseUrl(`http://${host}`) === undefined) return undefined
  return new URL(`http://${host}`).hostname
}

function isLoopback(name: string): boolean {
  if (isLocalName(name)) return true
  const address = name.replace(/^\[(.*)\]$/, '$1')
  const version = isIP(address)
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** Compares only hosts: a reverse proxy may speak https for a server that speaks http. */
function isOwnOrigin(origin: string, host: string): boolean {
  if (!/^https?:\/\//i.test(origin) || parseUrl(origin) === undefined) return false
  const { protocol, host: originHost } = new URL(origin)
  const own = `${protocol}//${host}`
  return parseUrl(own) !== undefined && originHost === new URL(own).host
}
