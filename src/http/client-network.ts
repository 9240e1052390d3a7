import { isIP } from 'node:net'

/**
 * The unit that limits per client count by: an IPv4 address, or the /64 network of an IPv6 address,
 * since one host can take any address of its network.
 *
 * @param address - as a socket spells it, also IPv4 mapped into IPv6; undefined once the client left
 */
export function clientNetwork(address = ''): string {
  if (isIP(address) !== 6) return address
  const mapped = /^::ffff:(?<ipv4>[\d.]+)$/i.exec(address)?.groups?.['ipv4']
  return mapped ?? networkOf(address)
}

/** The first four groups. What `::` stands for ends them, or is within them. */
function networkOf(address: string): string {
  const [before = '', after = ''] = address.split('::')
  const head = before === '' ? [] : before.split(':')
  if (head.length >= 4) return head.slice(0, 4).join(':')
  const tail = after === '' ? [] : after.split(':')
  const zeros = Array.from({ length: Math.max(8 - head.length - tail.length, 0) }, () => '0')
  return [...head, ...zeros, ...tail].slice(0, 4).join(':')
}
