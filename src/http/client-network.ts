import { isIP } from 'node:net'
import { ipv6Groups } from './ip-address.ts'

/**
 * Returns what limits count as one client: an IPv4 address, or the /64 network of an IPv6 address, because a host can
 * take any address in its network.
 *
 * @param address - as a socket reports it, which may be an IPv4-mapped IPv6 address; undefined once the client has
 *   left
 */
export function clientNetwork(address = ''): string {
  if (isIP(address) !== 6) return address
  const mapped = /^::ffff:(?<ipv4>[\d.]+)$/i.exec(address)?.groups?.['ipv4']
  return mapped ?? ipv6Groups(address).slice(0, 4).join(':')
}
