import { describe, expect, test } from 'vitest'
import { isInBlock, parseAddress, parseBlock } from '../../src/http/index.ts'

describe('parseAddress', () => {
  test.each([
    { text: '0.0.0.0', address: '0.0.0.0' },
    { text: '10.1.2.3', address: '10.1.2.3' },
    { text: '255.255.255.255', address: '255.255.255.255' },
    { text: '::', address: '::' },
    { text: '::1', address: '::1' },
    { text: '1::', address: '1::' },
    { text: '2001:db8::2:1', address: '2001:db8::2:1' },
    { text: '2001:DB8:0:0:1:0:0:1', address: '2001:db8::1:0:0:1' },
    { text: '64:ff9b::10.0.0.5', address: '64:ff9b::a00:5' },
    { text: 'fe80::1%eth0', address: 'fe80::1' },
    { text: '::ffff:10.1.2.3', address: '10.1.2.3' },
    { text: '0:0:0:0:0:FFFF:a01:203', address: '10.1.2.3' },
    { text: '::ffff:255.0.255.0%eth0', address: '255.0.255.0' },
  ])('reads $text', ({ text, address }) => {
    const family = address.includes(':') ? 'ipv6' : 'ipv4'
    expect(parseAddress(text)).toMatchObject({ address, family })
  })

  test.each(['', 'example.com', '10.1', '0x7f000001', '010.0.0.1.', '[::1]', '10.0.0.0/8', '1:2'])(
    'refuses "%s"',
    (text) => {
      expect(parseAddress(text)).toBeUndefined()
    },
  )
})

describe('parseBlock', () => {
  test.each([
    { text: '10.0.0.0/8', first: '10.0.0.0', last: '10.255.255.255', outside: '11.0.0.0' },
    { text: '10.0.0.5', first: '10.0.0.5', last: '10.0.0.5', outside: '10.0.0.4' },
    { text: '10.0.0.5/32', first: '10.0.0.5', last: '10.0.0.5', outside: '10.0.0.6' },
    { text: '0.0.0.0/0', first: '0.0.0.0', last: '255.255.255.255', outside: '::' },
    { text: '::/0', first: '::', last: 'ffff::', outside: '10.0.0.1' },
    { text: '::/0', first: '::', last: 'ffff::', outside: '::ffff:10.0.0.1' },
    { text: 'fc00::/7', first: 'fc00::', last: 'fdff:ffff::', outside: 'fbff::' },
    { text: '::1', first: '::1', last: '::1', outside: '::2' },
    // Mapped into IPv6, it is still IPv4.
    { text: '::ffff:10.0.0.0/104', first: '10.0.0.0', last: '10.255.255.255', outside: '9.0.0.0' },
    { text: '10.0.0.0/8', first: '::ffff:10.0.0.0', last: '::ffff:aff:ffff', outside: '::a00:0' },
  ])('reads $text', ({ text, first, last, outside }) => {
    const block = parseBlock(text)!
    for (const inside of [first, last]) {
      expect(isInBlock(parseAddress(inside)!, block)).toBe(true)
    }
    expect(isInBlock(parseAddress(outside)!, block)).toBe(false)
  })

  test.each([
    '',
    '/8',
    'example.com',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/255.0.0.0',
    '10/8',
    '::/129',
    // Ambiguous: the address or its network?
    '10.0.0.5/8',
    'fd00::1/8',
    '::ffff:10.0.0.5/104',
    '::ffff:0:0/95',
    '::ffff:0:0/0',
  ])('refuses "%s"', (text) => {
    expect(parseBlock(text)).toBeUndefined()
  })
})
