import { isIP } from 'node:net'
import { ipv6Groups } from './ip-address.ts'

/**
 * Returns the unit for limits per client: an IPv4 address, or the /64 network of an IPv6 address, because one
 * host can take any address of its network.
 *
 * @param address - as a socket writes it, including IPv4 mapped into IPv6; undefined once the client has left
 */
export function clientNetwork(address = ''): string {
  if (isIP(address) !== 6) return address
  const mapped = /^::ffff:(?<ipv4>[\d.]+)$/i.exec(address)?.groups?.['ipv4']
  return mapped ?? ipv6Groups(address).slice(0, 4).join(':')
}
