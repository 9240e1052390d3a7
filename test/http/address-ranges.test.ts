import { describe, expect, test } from 'vitest'
import { addressRanges, parseAddress, ruleOf, type AddressKind } from '../../src/http/index.ts'

/** The range that refuses an address, or `public`. */
type Refuser = string

/** A range, its edges, and the refuser of each address next to it. */
type Row = readonly [
  range: string,
  kind: AddressKind,
  edges: readonly [first: string, last: string],
  beside: Readonly<Record<string, Refuser>>,
]

const f6 = 'ffff:ffff:ffff:ffff:ffff:ffff'

// Written by hand, not derived from the tested table.
const rows: readonly Row[] = [
  ['0.0.0.0/8', 'unspecified', ['0.0.0.0', '0.255.255.255'], { '1.0.0.0': 'public' }],
  [
    '127.0.0.0/8',
    'loopback',
    ['127.0.0.0', '127.255.255.255'],
    { '126.255.255.255': 'public', '128.0.0.0': 'public' },
  ],
  [
    '10.0.0.0/8',
    'private',
    ['10.0.0.0', '10.255.255.255'],
    { '9.255.255.255': 'public', '11.0.0.0': 'public' },
  ],
  [
    '172.16.0.0/12',
    'private',
    ['172.16.0.0', '172.31.255.255'],
    { '172.15.255.255': 'public', '172.32.0.0': 'public' },
  ],
  [
    '192.168.0.0/16',
    'private',
    ['192.168.0.0', '192.168.255.255'],
    { '192.167.255.255': 'public', '192.169.0.0': 'public' },
  ],
  [
    '169.254.0.0/16',
    'link_local',
    ['169.254.0.0', '169.254.255.255'],
    { '169.253.255.255': 'public', '169.255.0.0': 'public' },
  ],
  [
    '100.64.0.0/10',
    'shared',
    ['100.64.0.0', '100.127.255.255'],
    { '100.63.255.255': 'public', '100.128.0.0': 'public' },
  ],
  [
    '192.0.0.0/24',
    'reserved',
    ['192.0.0.0', '192.0.0.255'],
    { '191.255.255.255': 'public', '192.0.1.0': 'public' },
  ],
  [
    '192.0.2.0/24',
    'documentation',
    ['192.0.2.0', '192.0.2.255'],
    { '192.0.1.255': 'public', '192.0.3.0': 'public' },
  ],
  [
    '198.51.100.0/24',
    'documentation',
    ['198.51.100.0', '198.51.100.255'],
    { '198.51.99.255': 'public', '198.51.101.0': 'public' },
  ],
  [
    '203.0.113.0/24',
    'documentation',
    ['203.0.113.0', '203.0.113.255'],
    { '203.0.112.255': 'public', '203.0.114.0': 'public' },
  ],
  [
    '198.18.0.0/15',
    'benchmarking',
    ['198.18.0.0', '198.19.255.255'],
    { '198.17.255.255': 'public', '198.20.0.0': 'public' },
  ],
  [
    '192.88.99.0/24',
    'transition',
    ['192.88.99.0', '192.88.99.255'],
    { '192.88.98.255': 'public', '192.88.100.0': 'public' },
  ],
  [
    '224.0.0.0/4',
    'multicast',
    ['224.0.0.0', '239.255.255.255'],
    { '223.255.255.255': 'public', '240.0.0.0': '240.0.0.0/4' },
  ],
  [
    '240.0.0.0/4',
    'reserved',
    ['240.0.0.0', '255.255.255.254'],
    { '239.255.255.255': '224.0.0.0/4', '255.255.255.255': '255.255.255.255/32' },
  ],
  one('255.255.255.255', 'broadcast', { '255.255.255.254': '240.0.0.0/4' }),
  one('169.254.169.254', 'metadata', {
    '169.254.169.253': '169.254.0.0/16',
    '169.254.169.255': '169.254.0.0/16',
  }),
  one('169.254.170.2', 'metadata', { '169.254.170.1': '169.254.0.0/16' }),
  one('169.254.170.23', 'metadata', { '169.254.170.24': '169.254.0.0/16' }),
  one('169.254.0.23', 'metadata', { '169.254.0.22': '169.254.0.0/16' }),
  one('169.254.42.42', 'metadata', { '169.254.42.43': '169.254.0.0/16' }),
  one('100.100.100.200', 'metadata', { '100.100.100.199': '100.64.0.0/10' }),
  one('192.0.0.192', 'metadata', { '192.0.0.193': '192.0.0.0/24' }),
  one('168.63.129.16', 'metadata', { '168.63.129.15': 'public', '168.63.129.17': 'public' }),
  one('fd00:ec2::254', 'metadata', { 'fd00:ec2::253': 'fc00::/7', 'fd00:ec2::255': 'fc00::/7' }),
  one('fd00:ec2::23', 'metadata', { 'fd00:ec2::24': 'fc00::/7' }),
  one('fd20:ce::254', 'metadata', { 'fd20:ce::255': 'fc00::/7' }),
  one('fd00:42::42', 'metadata', { 'fd00:42::43': 'fc00::/7' }),
  one('fe80::a9fe:a9fe', 'metadata', { 'fe80::a9fe:a9ff': 'fe80::/10' }),
  one('::', 'unspecified', { '::1': '::1/128' }),
  one('::1', 'loopback', { '::': '::/128', '::2': '::/96' }),
  ['::/96', 'transition', ['::2', '::255.255.255.255'], { '::1:0:0': '::/3' }],
  [
    '::ffff:0:0:0/96',
    'transition',
    ['::ffff:0:0:0', '::ffff:0:ffff:ffff'],
    { '::fffe:ffff:ffff:ffff': '::/3', '::ffff:1:0:0': '::/3' },
  ],
  [
    '64:ff9b:1::/48',
    'transition',
    ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
    { '64:ff9b:0:ffff:ffff:ffff:ffff:ffff': '::/3', '64:ff9b:2::': '::/3' },
  ],
  [
    '2001::/32',
    'transition',
    ['2001::', `2001:0:${f6}`],
    { [`2000:ffff:${f6}`]: 'public', '2001:1::': '2001::/23' },
  ],
  [
    '2002::/16',
    'transition',
    ['2002::', `2002:ffff:${f6}`],
    { [`2001:ffff:${f6}`]: 'public', '2003::': 'public' },
  ],
  [
    '100::/64',
    'discard',
    ['100::', '100::ffff:ffff:ffff:ffff'],
    { [`ff:ffff:${f6}`]: '::/3', '100:0:0:1::': '100:0:0:1::/64' },
  ],
  [
    '100:0:0:1::/64',
    'discard',
    ['100:0:0:1::', '100::1:ffff:ffff:ffff:ffff'],
    { '100:0:0:2::': '::/3' },
  ],
  [
    '2001:2::/48',
    'benchmarking',
    ['2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff'],
    { [`2001:1:${f6}`]: '2001::/23', '2001:2:1::': '2001::/23' },
  ],
  [
    '2001:db8::/32',
    'documentation',
    ['2001:db8::', `2001:db8:${f6}`],
    { [`2001:db7:${f6}`]: 'public', '2001:db9::': 'public' },
  ],
  [
    '3fff::/20',
    'documentation',
    ['3fff::', `3fff:fff:${f6}`],
    { [`3ffe:ffff:${f6}`]: 'public', '3fff:1000::': 'public' },
  ],
  [
    'fc00::/7',
    'unique_local',
    ['fc00::', `fdff:ffff:${f6}`],
    { [`fbff:ffff:${f6}`]: '8000::/1', 'fe00::': '8000::/1' },
  ],
  [
    'fe80::/10',
    'link_local',
    ['fe80::', `febf:ffff:${f6}`],
    { [`fe7f:ffff:${f6}`]: '8000::/1', 'fec0::': 'fec0::/10' },
  ],
  [
    'fec0::/10',
    'site_local',
    ['fec0::', `feff:ffff:${f6}`],
    { [`febf:ffff:${f6}`]: 'fe80::/10', 'ff00::': 'ff00::/8' },
  ],
  ['ff00::/8', 'multicast', ['ff00::', `ffff:ffff:${f6}`], { [`feff:ffff:${f6}`]: 'fec0::/10' }],
  [
    '2001::/23',
    'reserved',
    ['2001:1::', `2001:1ff:${f6}`],
    { [`2001:0:${f6}`]: '2001::/32', '2001:200::': 'public' },
  ],
  [
    '5f00::/16',
    'reserved',
    ['5f00::', `5f00:ffff:${f6}`],
    { [`5eff:ffff:${f6}`]: '4000::/2', '5f01::': '4000::/2' },
  ],
  ['::/3', 'reserved', ['::1:0:0', `1fff:ffff:${f6}`], { '2000::': 'public' }],
  [
    '4000::/2',
    'reserved',
    ['4000::', `7fff:ffff:${f6}`],
    { [`3fff:ffff:${f6}`]: 'public', '8000::': '8000::/1' },
  ],
  ['8000::/1', 'reserved', ['8000::', `fbff:ffff:${f6}`], { [`7fff:ffff:${f6}`]: '4000::/2' }],
]

function one(address: string, kind: AddressKind, beside: Row[3]): Row {
  return [`${address}/${address.includes(':') ? 128 : 32}`, kind, [address, address], beside]
}

function refuser(text: string): Refuser {
  return ruleOf(parseAddress(text)!)?.range ?? 'public'
}

describe('a non-public range', () => {
  test.each(rows)('%s is refused up to both of its edges as %s', (...row) => {
    const [range, kind, edges, beside] = row
    for (const edge of edges) expect(ruleOf(parseAddress(edge)!)).toMatchObject({ range, kind })
    expect(Object.fromEntries(Object.keys(beside).map((text) => [text, refuser(text)]))).toEqual(
      beside,
    )
  })

  test('is covered by this table', () => {
    const tested = rows.map(([range]) => range)
    expect(addressRanges.map(({ range }) => range).toSorted()).toEqual(tested.toSorted())
    for (const { reference } of addressRanges) expect(reference).toMatch(/^RFC \d+|^[A-Z]\w+.*: /)
  })
})

test.each(['1.1.1.1', '8.8.8.8', '93.184.216.34', '2606:4700::1111', '2a00:1450:4001::1'])(
  '%s is public',
  (text) => {
    expect(refuser(text)).toBe('public')
  },
)

describe('an address that embeds an IPv4 address is treated like it:', () => {
  test.each([
    { name: 'mapped', of: (ipv4: string) => `::ffff:${ipv4}` },
    { name: 'NAT64', of: (ipv4: string) => `64:ff9b::${ipv4}` },
    { name: 'ISATAP', of: (ipv4: string) => `2a00:1450:4001:0:0:5efe:${ipv4}` },
    { name: 'ISATAP, unique', of: (ipv4: string) => `2a00:1450:4001:0:200:5efe:${ipv4}` },
  ])('$name', ({ of }) => {
    expect(refuser(of('10.0.0.5'))).toBe('10.0.0.0/8')
    expect(refuser(of('127.0.0.1'))).toBe('127.0.0.0/8')
    expect(refuser(of('169.254.169.254'))).toBe('169.254.169.254/32')
    expect(refuser(of('93.184.216.34'))).toBe('public')
  })

  test('but an embedded public address does not make a non-public range public', () => {
    expect(refuser('fe80::5efe:93.184.216.34')).toBe('fe80::/10')
  })
})

describe('an address with an embedded IPv4 address is refused regardless of it:', () => {
  test.each([
    { name: 'compatible', text: '::93.184.216.34', range: '::/96' },
    { name: 'translated', text: '::ffff:0:93.184.216.34', range: '::ffff:0:0:0/96' },
    { name: '6to4', text: '2002:5db8:d822::1', range: '2002::/16' },
    { name: 'Teredo', text: '2001:0:5db8:d822:0:ffff:a247:27dd', range: '2001::/32' },
    { name: 'local NAT64', text: '64:ff9b:1::93.184.216.34', range: '64:ff9b:1::/48' },
  ])('$name', ({ text, range }) => {
    expect(refuser(text)).toBe(range)
  })
})
