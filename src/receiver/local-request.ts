import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Headers that proxies and tunnels add. */
const proxyHeaders = ['forwarded', 'x-forwarded-for'] as const

/**
 * Whether a request comes from this machine: over a loopback address, and not through a proxy or a tunnel, which can
 * act for a different machine.
 *
 * @param remoteAddress - the address of the client; undefined if the connection is closed
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
