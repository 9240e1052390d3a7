import { isIP } from 'node:net'

/** An IP address as a number. */
export interface IpAddress {
  readonly family: 4 | 6
  readonly value: bigint
}

/** The addresses that share a prefix. */
export interface AddressBlock extends IpAddress {
  readonly prefixBits: number
}

const widthsBits: Readonly<Record<IpAddress['family'], number>> = { 4: 32, 6: 128 }

/** IPv4-mapped IPv6 addresses, `::ffff:0:0/96`. A connection to one uses IPv4. */
const mapped: AddressBlock = { family: 6, value: 0xffffn << 32n, prefixBits: 96 }

/**
 * Parses an IP address, without its zone. An IPv4-mapped IPv6 address becomes IPv4, so that rules see only one form of
 * each address. Returns undefined for other text, and for short, octal and hexadecimal forms of IPv4.
 */
export function parseAddress(text: string): IpAddress | undefined {
  const address = parseAsSpelled(text)
  return address !== undefined && isInBlock(address, mapped) ? lastIpv4(address) : address
}

/**
 * Parses a block such as `10.0.0.0/8`, or an address as a block of one. Returns undefined for other text, and if bits
 * after the prefix are set: `10.1.0.0/8` may mean the address or the network.
 */
export function parseBlock(text: string): AddressBlock | undefined {
  const [, first = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = parseAsSpelled(first)
  if (address === undefined) return undefined
  const prefixBits = prefix === undefined ? widthsBits[address.family] : Number(prefix)
  const freeBits = widthsBits[address.family] - prefixBits
  if (freeBits < 0 || BigInt.asUintN(freeBits, address.value) !== 0n) return undefined
  // A mapped address has its 96th bit set. No bit after the prefix is set, so the prefix has at least 96 bits.
  return isInBlock(address, mapped)
    ? { ...lastIpv4(address), prefixBits: prefixBits - mapped.prefixBits }
    : { ...address, prefixBits }
}

/** Whether a block contains the address; false if one is IPv4 and the other IPv6. */
export function isInBlock({ family, value }: IpAddress, block: AddressBlock): boolean {
  const freeBits = BigInt(widthsBits[family] - block.prefixBits)
  return family === block.family && value >> freeBits === block.value >> freeBits
}

/** Returns the IPv4 address in the last 32 bits of an IPv6 address. */
export function lastIpv4({ value }: IpAddress): IpAddress {
  return { family: 4, value: BigInt.asUintN(32, value) }
}

/** Writes an IPv4 address as four decimal numbers. */
export function ipv4Text({ value }: IpAddress): string {
  return [24n, 16n, 8n, 0n].map((shift) => BigInt.asUintN(8, value >> shift)).join('.')
}

function parseAsSpelled(text: string): IpAddress | undefined {
  switch (isIP(text)) {
    case 4:
      return { family: 4, value: joinGroups(text.split('.'), 8n) }
    case 6: {
      const groups = ipv6Groups(text).map((group) => `0x${group}`)
      return { family: 6, value: joinGroups(groups, 16n) }
    }
    default:
      return undefined
  }
}

/** Returns the eight groups of an IPv6 address, in hexadecimal digits without leading zeros. */
export function ipv6Groups(text: string): readonly string[] {
  const [address = ''] = text.split('%')
  // A URL writes all groups in hexadecimal, including those of an IPv4 tail.
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [before, after] = [head, tail].map((part) => (part === '' ? [] : part.split(':')))
  const [known, last] = [before ?? [], after ?? []]
  const zeros = Array.from({ length: 8 - known.length - last.length }, () => '0')
  return [...known, ...zeros, ...last]
}

function joinGroups(groups: readonly string[], groupBits: bigint): bigint {
  return groups.reduce((value, group) => (value << groupBits) | BigInt(group), 0n)
}

/** Identifies a client for limits: by IPv4 address, or by IPv6 /64 network, because a host may use all of it. */
export function clientNetwork(address = ''): string {
  if (isIP(address) !== 6) return address
  const mapped = /^::ffff:(?<ipv4>[\d.]+)$/i.exec(address)?.groups?.['ipv4']
  return mapped ?? ipv6Groups(address).slice(0, 4).join(':')
}
