import { isIP } from 'node:net'
import { ipv6Groups } from './ip-address.ts'

/**
 * The unit that limits per client count by: an IPv4 address, or the /64 network of an IPv6 address,
 * since one host can take any address of its network.
 *
 * @param address - as a socket spells it, also IPv4 mapped into IPv6; undefined once the client left
 */
export function clientNetwork(address = ''): string {
  if (isIP(address) !== 6) return address
  const mapped = /^::ffff:(?<ipv4>[\d.]+)$/i.exec(address)?.groups?.['ipv4']
  return mapped ?? ipv6Groups(address).slice(0, 4).join(':')
}
