import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AddressGuard } from '../../src/http/index.ts'

/** First address and size of ranges that are never public. */
const forbidden = [
  [0x00_00_00_00, 2 ** 24],
  [0x0a_00_00_00, 2 ** 24],
  [0x64_40_00_00, 2 ** 22],
  [0x7f_00_00_00, 2 ** 24],
  [0xa9_fe_00_00, 2 ** 16],
  [0xac_10_00_00, 2 ** 20],
  [0xc0_a8_00_00, 2 ** 16],
  [0xe0_00_00_00, 2 ** 29],
] as const

const forbiddenIpv4 = fc
  .constantFrom(...forbidden)
  .chain(([first, count]) => fc.nat(count - 1).map((offset) => first + offset))

const numbers = {
  decimal: (part: number) => String(part),
  octal: (part: number) => `0${part.toString(8)}`,
  hex: (part: number) => `0x${part.toString(16)}`,
  'long hex': (part: number) => `0X000${part.toString(16).toUpperCase()}`,
}

const characters = {
  plain: (character: string) => character,
  'full width': (character: string) => fullWidth(character),
  escaped: (character: string) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
}

function fullWidth(character: string): string {
  return character === '.' ? '。' : String.fromCharCode(character.charCodeAt(0) + 0xfee0)
}

/** Splits an address into one to four numbers. The last one holds all remaining bytes. */
function parts(address: number, count: number): readonly number[] {
  const restBytes = 5 - count
  const heads = Array.from(
    { length: count - 1 },
    (_, index) => (address >>> (24 - 8 * index)) & 255,
  )
  return [...heads, address % 256 ** restBytes]
}

const inIpv4 = fc
  .record({
    count: fc.integer({ min: 1, max: 4 }),
    styles: fc.array(fc.constantFrom(...Object.values(numbers)), { minLength: 4, maxLength: 4 }),
    letters: fc.array(fc.constantFrom(...Object.values(characters)), { minLength: 1 }),
    end: fc.constantFrom('', '.', '。'),
  })
  .map(({ count, styles, letters, end }) => (address: number) => {
    const text = parts(address, count)
      .map((part, index) => styles[index]!(part))
      .join('.')
    const spelled = Array.from(text, (letter, index) => letters[index % letters.length]!(letter))
    return spelled.join('') + end
  })

const groups = (address: number): string =>
  [address >>> 16, address & 0xffff].map((group) => group.toString(16)).join(':')
const dotted = (address: number): string => parts(address, 4).join('.')

const inIpv6 = fc
  .record({
    tail: fc.constantFrom(groups, dotted),
    around: fc.constantFrom<(tail: string) => string>(
      (tail) => `::ffff:${tail}`,
      (tail) => `0:0:0:0:0:FFFF:${tail}`,
      (tail) => `::${tail}`,
      (tail) => `::ffff:0:${tail}`,
      (tail) => `64:ff9b::${tail}`,
      (tail) => `64:ff9b:1::${tail}`,
      (tail) => `2a00:1450::5efe:${tail}`,
      (tail) => `2a00:1450::200:5efe:${tail}`,
      (tail) => `2001:0:5db8:d822::${tail}`,
    ),
  })
  .map(
    ({ tail, around }) =>
      (address: number) =>
        `[${around(tail(address))}]`,
  )

const in6to4 = fc.constant((address: number) => `[2002:${groups(address)}::1]`)

const guard = new AddressGuard()

test('a forbidden IPv4 address is refused in every spelling', () => {
  fc.assert(
    fc.property(forbiddenIpv4, fc.oneof(inIpv4, inIpv6, in6to4), (address, spell) => {
      const { hostname } = new URL(`http://${spell(address)}/`)
      expect(guard.refusalOf(hostname)?.message).toContain('network.allow')
    }),
    { numRuns: 1_500 },
  )
})

test('network.allow lifts the refusal of an address in every spelling of IPv4', () => {
  fc.assert(
    fc.property(forbiddenIpv4, inIpv4, (address, spell) => {
      const { hostname } = new URL(`http://${spell(address)}/`)
      expect(new AddressGuard({ allow: [dotted(address)] }).refusalOf(hostname)).toBeUndefined()
    }),
  )
})

test('an IPv4 address in a forbidden range is refused, and one outside is not', () => {
  const ipv4 = fc.nat(2 ** 32 - 1)
  const isForbidden = (address: number): boolean =>
    forbidden.some(([first, count]) => address >= first && address < first + count)
  fc.assert(
    fc.property(ipv4, (address) => {
      const refused = guard.refusalOf(dotted(address)) !== undefined
      // The other ranges are small. The tests of the table of ranges check their edges.
      if (isForbidden(address)) expect(refused).toBe(true)
      else if (address >>> 24 < 192 && address >>> 24 !== 168) expect(refused).toBe(false)
    }),
    { numRuns: 1_500 },
  )
})
