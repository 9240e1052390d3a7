import type { SocketAddress } from 'node:net'
import { ipv6Groups, isInBlock, lastIpv4, parseBlock, type AddressBlock } from './ip-address.ts'

/** The kinds of addresses that are not public, each with a description that can follow "it is". */
const kinds = {
  unspecified: 'an unspecified address',
  loopback: 'a loopback address',
  private: 'a private address',
  link_local: 'a link-local address',
  unique_local: 'a unique local address',
  site_local: 'a site-local address',
  metadata: 'a cloud metadata address',
  shared: 'a carrier-grade NAT address',
  multicast: 'a multicast address',
  broadcast: 'the broadcast address',
  documentation: 'a documentation address',
  benchmarking: 'a benchmarking address',
  discard: 'a discard-only address',
  transition: 'an IPv6 transition address',
  reserved: 'a reserved address',
} as const

/** Why an address is not public, such as `loopback`. */
export type AddressKind = keyof typeof kinds

interface AddressRange {
  /** Such as `10.0.0.0/8`. */
  readonly range: string
  readonly kind: AddressKind
  /** The document that reserves it, or the clouds that use it. */
  readonly reference: string
}

interface AddressRule extends Omit<AddressRange, 'reference'> {
  /** Such as `a private address (10.0.0.0/8)`. */
  readonly text: string
}

/**
 * The ranges that are not public: multicast, cloud metadata addresses, and everything that the IANA registries
 * don't list as globally reachable. The first range that contains an address applies, so narrower ranges come first.
 */
export const addressRanges: readonly AddressRange[] = [
  ...rangesOf('unspecified', [['0.0.0.0/8', 'RFC 791, section 3.2']]),
  ...rangesOf('loopback', [['127.0.0.0/8', 'RFC 1122, section 3.2.1.3']]),
  ...rangesOf('metadata', [
    ['169.254.169.254/32', 'Amazon, Google, Microsoft, Oracle and others: instance metadata'],
    ['169.254.170.2/32', 'Amazon: credentials of ECS tasks'],
    ['169.254.170.23/32', 'Amazon: credentials of EKS pods'],
    ['169.254.0.23/32', 'Tencent: instance metadata'],
    ['169.254.42.42/32', 'Scaleway: instance metadata'],
    ['100.100.100.200/32', 'Alibaba: instance metadata'],
    ['192.0.0.192/32', 'Oracle: instance metadata, classic'],
    // A public address, but every Azure virtual machine reaches its host there.
    ['168.63.129.16/32', 'Microsoft: the Azure agent'],
    ['fd00:ec2::254/128', 'Amazon: instance metadata'],
    ['fd00:ec2::23/128', 'Amazon: credentials of EKS pods'],
    ['fd20:ce::254/128', 'Google: instance metadata'],
    ['fd00:42::42/128', 'Scaleway: instance metadata'],
    ['fe80::a9fe:a9fe/128', 'OpenStack: instance metadata'],
  ]),
  ...rangesOf('private', [
    ['10.0.0.0/8', 'RFC 1918'],
    ['172.16.0.0/12', 'RFC 1918'],
    ['192.168.0.0/16', 'RFC 1918'],
  ]),
  ...rangesOf('link_local', [['169.254.0.0/16', 'RFC 3927']]),
  ...rangesOf('shared', [['100.64.0.0/10', 'RFC 6598']]),
  ...rangesOf('documentation', [
    ['192.0.2.0/24', 'RFC 5737'],
    ['198.51.100.0/24', 'RFC 5737'],
    ['203.0.113.0/24', 'RFC 5737'],
  ]),
  ...rangesOf('benchmarking', [['198.18.0.0/15', 'RFC 2544']]),
  ...rangesOf('transition', [['192.88.99.0/24', 'RFC 7526: 6to4 relays']]),
  ...rangesOf('multicast', [['224.0.0.0/4', 'RFC 5771']]),
  ...rangesOf('broadcast', [['255.255.255.255/32', 'RFC 919']]),
  ...rangesOf('reserved', [
    ['192.0.0.0/24', 'RFC 6890'],
    ['240.0.0.0/4', 'RFC 1112'],
  ]),
  ...rangesOf('unspecified', [['::/128', 'RFC 4291']]),
  ...rangesOf('loopback', [['::1/128', 'RFC 4291']]),
  // Refuse all of these: every host behind them also has an ordinary address.
  ...rangesOf('transition', [
    ['::/96', 'RFC 4291: IPv4-compatible'],
    ['::ffff:0:0:0/96', 'RFC 2765: IPv4-translated'],
    ['64:ff9b:1::/48', 'RFC 8215: translation within a network'],
    ['2001::/32', 'RFC 4380: Teredo'],
    ['2002::/16', 'RFC 3056: 6to4'],
  ]),
  ...rangesOf('discard', [
    ['100::/64', 'RFC 6666'],
    ['100:0:0:1::/64', 'RFC 9780'],
  ]),
  ...rangesOf('benchmarking', [['2001:2::/48', 'RFC 5180']]),
  ...rangesOf('documentation', [
    ['2001:db8::/32', 'RFC 3849'],
    ['3fff::/20', 'RFC 9637'],
  ]),
  ...rangesOf('unique_local', [['fc00::/7', 'RFC 4193']]),
  ...rangesOf('link_local', [['fe80::/10', 'RFC 4291']]),
  ...rangesOf('site_local', [['fec0::/10', 'RFC 3879']]),
  ...rangesOf('multicast', [['ff00::/8', 'RFC 4291']]),
  ...rangesOf('reserved', [
    ['2001::/23', 'RFC 2928'],
    ['5f00::/16', 'RFC 9602: segment identifiers'],
    // Of the remaining addresses, only 2000::/3 is in use on the internet.
    ['::/3', 'RFC 4291'],
    ['4000::/2', 'RFC 4291'],
    ['8000::/1', 'RFC 4291'],
  ]),
]

/** The well-known prefix of NAT64, under which IPv6-only networks reach IPv4 addresses. */
const nat64Prefix = '64:ff9b::/96'

let parsed: ReturnType<typeof parseRanges> | undefined

function parseRanges() {
  const blocks = addressRanges.map((range) => ({ ...range, block: blockOf(range.range) }))
  return { nat64: blockOf(nat64Prefix), blocks }
}

/**
 * Returns the rule for an address; undefined if it is public. If an IPv6 address contains an IPv4 address, as in NAT64
 * (RFC 6052) and ISATAP (RFC 5214), the IPv4 address decides. Only the well-known prefix of NAT64 is recognised.
 */
export function ruleOf(address: SocketAddress): AddressRule | undefined {
  // Parse the ranges on first use, because most programs that load this module never need them.
  const { nat64, blocks } = (parsed ??= parseRanges())
  if (address.family === 'ipv6' && isInBlock(address, nat64)) return carriedRule(address)
  const found = blocks.find(({ block }) => isInBlock(address, block))
  if (found === undefined) return isIsatap(address) ? carriedRule(address) : undefined
  const { range, kind } = found
  return { range, kind, text: `${kinds[kind]} (${range})` }
}

function carriedRule(address: SocketAddress): AddressRule | undefined {
  const carried = lastIpv4(address)
  const rule = ruleOf(carried)
  return rule && { ...rule, text: `an IPv6 form of ${carried.address}, ${rule.text}` }
}

function isIsatap({ address, family }: SocketAddress): boolean {
  return family === 'ipv6' && /^(?:\w+:){4}(?:0|200):5efe:/.test(ipv6Groups(address).join(':'))
}

function rangesOf(
  kind: AddressKind,
  rows: readonly (readonly [range: string, reference: string])[],
): readonly AddressRange[] {
  return rows.map(([range, reference]) => ({ range, kind, reference }))
}

function blockOf(range: string): AddressBlock {
  const block = parseBlock(range)
  if (block === undefined) throw new TypeError(`${range} is not a range of addresses`)
  return block
}
