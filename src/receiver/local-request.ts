import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** What proxies and tunnels add. */
const proxyHeaders = ['forwarded', 'x-forwarded-for'] as const

/**
 * Whether this machine made a request itself: over a loopback address, and not for somebody else, as a
 * tunnel does.
 *
 * @param remoteAddress - the other end of its connection; undefined where that is gone
 */
export function isLocalRequest(
  remoteAddress: string | undefined,
  headers: IncomingHttpHeaders,
): boolean {
  if (proxyHeaders.some((name) => headers[name] !== undefined)) return false
  const address = remoteAddress ?? ''
  const version = isIP(address)
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6')
}
