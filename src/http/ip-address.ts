import { BlockList, isIP, SocketAddress } from 'node:net'

/** The addresses of one family that share a prefix. */
export interface AddressBlock {
  readonly family: SocketAddress['family']
  readonly list: BlockList
}

/** IPv4-mapped IPv6 addresses. A connection to one uses IPv4. */
const mapped = new BlockList()
mapped.addSubnet('::ffff:0:0', 96, 'ipv6')

/**
 * Parses an IP address, without its zone. An IPv4-mapped IPv6 address becomes IPv4, so that rules see only one form of
 * each address. Returns undefined for other text, and for short, octal and hexadecimal forms of IPv4.
 */
export function parseAddress(text: string): SocketAddress | undefined {
  switch (isIP(text)) {
    case 4:
      return new SocketAddress({ address: text, family: 'ipv4' })
    case 6: {
      const address = new SocketAddress({ address: text.replace(/%.*/s, ''), family: 'ipv6' })
      return mapped.check(address) ? lastIpv4(address) : address
    }
    default:
      return undefined
  }
}

/**
 * Parses a block such as `10.0.0.0/8`, or an address as a block of one. Returns undefined for other text, and if bits
 * after the prefix are set: `10.1.0.0/8` may mean the address or the network.
 */
export function parseBlock(text: string): AddressBlock | undefined {
  const [, first = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const start = parseAddress(first)
  if (start === undefined) return undefined
  const isIpv4 = isIP(first) === 4
  const prefixBits = prefix === undefined ? 128 : Number(prefix) + (isIpv4 ? 96 : 0)
  const bits = ipv6Groups(isIpv4 ? `::${first}` : first)
    .map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0'))
    .join('')
  if (prefixBits > 128 || bits.includes('1', prefixBits)) return undefined
  const list = new BlockList()
  // A mapped address has its 96th bit set. No bit after the prefix is set, so the prefix has at least 96 bits.
  list.addSubnet(start, start.family === 'ipv4' ? prefixBits - 96 : prefixBits)
  return { family: start.family, list }
}

/** Whether a block contains the address. A BlockList alone would find IPv4 addresses in blocks of IPv6 too. */
export function isInBlock(address: SocketAddress, { family, list }: AddressBlock): boolean {
  return address.family === family && list.check(address)
}

/** Returns the IPv4 address in the last 32 bits of an IPv6 address. */
export function lastIpv4({ address }: SocketAddress): SocketAddress {
  const groups = ipv6Groups(address)
    .slice(-2)
    .map((group) => Number.parseInt(group, 16))
  const numbers = groups.flatMap((group) => [group >> 8, group & 0xff])
  return new SocketAddress({ address: numbers.join('.'), family: 'ipv4' })
}

/** Returns the eight groups of an IPv6 address, in hexadecimal digits without leading zeros. */
export function ipv6Groups(text: string): readonly string[] {
  const [address = ''] = text.split('%')
  // The URL parser converts all groups to hexadecimal, including an IPv4 address at the end.
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [before, after] = [head, tail].map((part) => (part === '' ? [] : part.split(':')))
  const [known, last] = [before ?? [], after ?? []]
  const zeros = Array.from({ length: 8 - known.length - last.length }, () => '0')
  return [...known, ...zeros, ...last]
}

/** Identifies a client for limits: by IPv4 address, or by IPv6 /64 network, because a host may use all of it. */
export function clientNetwork(address = ''): string {
  if (isIP(address) !== 6) return address
  const mapped = /^::ffff:(?<ipv4>[\d.]+)$/i.exec(address)?.groups?.['ipv4']
  return mapped ?? ipv6Groups(address).slice(0, 4).join(':')
}
