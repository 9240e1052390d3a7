import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { parseUrl } from '../model/index.ts'
import { isLocalName } from './name-source.ts'

/** The headers that show whether a web page may have made a request. */
export type PageHeaders = Pick<
  IncomingHttpHeaders,
  'host' | 'origin' | 'sec-fetch-site' | 'sec-fetch-mode' | 'sec-fetch-dest'
>

type ForeignSign = 'foreign_host' | 'foreign_origin'

const hostShape = /^(?:\[[\da-f:.]+\]|[^\s/@?#\\:[\]]+)(?::\d{1,5})?$/i

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/**
 * Recognises requests that a web page may have made: those from a different origin, and those with a Host that is not
 * loopback. The owner of a foreign name can make it resolve to this machine (DNS rebinding).
 *
 * @param url - the request's path and query. If given, accepts what `isLinkToPage` accepts
 */
export function foreignSign(headers: PageHeaders, url?: string): ForeignSign | undefined {
  if (!isLoopbackHost(headers.host)) return 'foreign_host'
  return isForeignOrigin(headers, url) ? 'foreign_origin' : undefined
}

/** Like {@link foreignSign}, but accepts any Host. */
export function isForeignOrigin(headers: PageHeaders, url = ''): boolean {
  const { host = '', origin, 'sec-fetch-site': site = 'none' } = headers
  if (origin !== undefined && !isOwnOrigin(origin, host)) return true
  // Browsers send no Origin when a page loads an image, a script or a frame.
  return site !== 'none' && site !== 'same-origin' && !isLinkToPage(headers, url)
}

/** Whether a person followed a link to a page or a health check. The page with the link can't read the answer. */
function isLinkToPage(headers: PageHeaders, url: string): boolean {
  const isTopLevel =
    headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  return isTopLevel && /^\/(?:_evroute\/(?:sign-in)?|healthz|readyz)?(?:\?|$)/.test(url)
}

/** Whether an IP address or a host name can be reached only from this machine. */
export function isLoopbackAddress(host: string): boolean {
  return isLoopbackHost(isIP(host) === 6 ? `[${host}]` : host)
}

function isLoopbackHost(host: string | undefined): boolean {
  const name = host === undefined ? undefined : nameOf(host)
  return name !== undefined && isLoopback(name)
}

/** Returns a Host header without its port, as URLs spell it: in lower case, with addresses in short form. */
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
