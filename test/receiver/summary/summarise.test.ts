import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventTypes, type JsonObject } from '../../../src/model/index.ts'
import {
  summarise,
  SummaryMemory,
  summaryText,
  type Summarisable,
} from '../../../src/receiver/index.ts'

function line(
  type: Summarisable['type'],
  body: JsonObject,
  memory: SummaryMemory = new SummaryMemory(),
): string {
  return summaryText(summarise({ type, body }, memory))
}

describe('track', () => {
  test.each<[string, JsonObject | string | null, string]>([
    ['nothing', null, '“Ordered”'],
    ['nothing of a value that is not an object', 'revenue', '“Ordered”'],
    [
      'the most informative ones, revenue first',
      { coupon: 'SUMMER', products: [1, 2, 3], Total: 5, revenue: '39.95', order_id: 'o_1' },
      '“Ordered” revenue=39.95 Total=5 order_id=o_1',
    ],
    ['a list by its length', { products: [{}, {}, {}] }, '“Ordered” products=3'],
    ['others in their order', { b: true, a: 0, c: {}, d: null, e: '' }, '“Ordered” b=true a=0'],
    [
      'names and values with spaces in quotes',
      { 'the size': 'very "L"' },
      '“Ordered” "the size"="very \\"L\\""',
    ],
  ])('shows %s', (_name, properties, expected) => {
    expect(line('track', { type: 'track', event: 'Ordered', properties })).toBe(expected)
  })
})

describe('identify', () => {
  test('shows changed traits first, then new ones, then the rest', () => {
    const memory = new SummaryMemory()
    const seen = (traits: JsonObject): string => line('identify', { userId: 'u_1', traits }, memory)
    expect(seen({ email: 'ada@example.com', plan: 'free' })).toBe('email=ada@example.com plan=free')
    expect(seen({ email: 'ada@example.com', age: 36, plan: 'pro' })).toBe(
      'plan: free → pro age=36 email=ada@example.com',
    )
    expect(seen({ plan: 'pro' })).toBe('plan=pro')
  })

  test('marks the old and the new part of a change', () => {
    const memory = new SummaryMemory()
    const seen = (plan: string): readonly unknown[] =>
      summarise({ type: 'identify', body: { userId: 'u_1', traits: { plan } } }, memory)
    seen('free')
    expect(seen('pro')).toEqual([
      { role: 'key', text: 'plan' },
      { role: 'muted', text: ': ' },
      { role: 'old', text: 'free' },
      { role: 'arrow', text: ' → ' },
      { role: 'new', text: 'pro' },
    ])
  })

  test('keeps known and anonymous users apart, and does not compare events without a user', () => {
    const memory = new SummaryMemory()
    line('identify', { userId: 'x', traits: { plan: 'free' } }, memory)
    line('identify', { traits: { plan: 'free' } }, memory)
    expect(line('identify', { anonymousId: 'x', traits: { plan: 'pro' } }, memory)).toBe('plan=pro')
    expect(line('identify', { traits: { plan: 'pro' } }, memory)).toBe('plan=pro')
  })

  test('shows four traits and the number of the others', () => {
    const traits = { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }
    expect(line('identify', { userId: 'u_1', traits })).toBe('a=1 b=2 c=3 d=4 +2 more')
  })

  test('abbreviates nested values', () => {
    const address = { city: 'Berlin', lines: ['a', ['b'], {}], none: [], at: { x: { y: 1 } } }
    const text = '{city: Berlin, lines: [a, […], {}], none: [], at: {x: {…}}}'
    expect(line('identify', { userId: 'u_1', traits: { address } })).toBe(`address=${text}`)
  })
})

describe('page', () => {
  test.each<[JsonObject, string]>([
    [
      {
        properties: {
          path: '/pricing',
          title: 'Pricing',
          referrer: 'https://search.example.com/?q=x',
          url: 'https://example.com/pricing',
        },
      },
      '/pricing “Pricing” ← search.example.com',
    ],
    [{ name: 'Home', properties: { url: 'https://example.com/a?b' } }, '/a “Home”'],
    [{ properties: { path: '/', referrer: 'newsletter' } }, '/ ← newsletter'],
    [{ properties: { path: '/', referrer: '' } }, '/'],
    [{ properties: { path: '/', referrer: 'about:blank' } }, '/'],
    [{ properties: { url: 'mailto', title: ' \n' } }, ''],
    [{ properties: 'x', name: 7 }, '“7”'],
  ])('%j', (body, expected) => {
    expect(line('page', body)).toBe(expected)
  })
})

describe('screen', () => {
  test.each<[JsonObject, string]>([
    [
      {
        name: 'Main',
        context: { os: { name: 'iOS', version: '17.4' }, app: { name: 'Shop', version: '2.1.0' } },
      },
      '“Main” iOS 17.4 · Shop 2.1.0',
    ],
    [{ properties: { name: 'Main' }, context: { app: { name: 'Shop' } } }, '“Main” Shop'],
    [{ name: 'Main', context: { os: 'iOS' } }, '“Main”'],
  ])('%j', (body, expected) => {
    expect(line('screen', body)).toBe(expected)
  })
})

describe('alias, group and delete', () => {
  test.each<[Summarisable['type'], JsonObject, string]>([
    ['alias', { 'Previous ID': 'anon_9', 'User ID': 'u_42' }, 'anon_9 → u_42'],
    ['alias', { previousId: 'anon_9', userId: 'u_42' }, 'anon_9 → u_42'],
    ['alias', {}, '(unknown) → (unknown)'],
    [
      'group',
      { userId: 'u_1', groupId: 'acme', traits: { name: 'Acme Inc', 'total billed': 830 } },
      'u_1 in acme (Acme Inc) "total billed"=830',
    ],
    ['group', { anonymousId: 'a', groupId: 7, traits: { name: {} } }, 'a in 7 name={}'],
    ['group', {}, '(unknown) in (unknown)'],
    ['delete', { userId: 'u_1' }, '⚠ delete user u_1'],
  ])('%s %j', (type, body, expected) => {
    expect(line(type, body)).toBe(expected)
  })

  test('a group shows its changed traits, whichever user reports them', () => {
    const memory = new SummaryMemory()
    const seen = (userId: string, seats: number): string =>
      line('group', { userId, groupId: 'acme', traits: { seats } }, memory)
    expect(seen('u_1', 3)).toBe('u_1 in acme seats=3')
    expect(seen('u_2', 5)).toBe('u_2 in acme seats: 3 → 5')
  })
})

describe('aliases', () => {
  const identify = (memory: SummaryMemory, body: JsonObject): string =>
    line('identify', body, memory)
  const alias = (memory: SummaryMemory, previousId: string, userId: string): string =>
    line('alias', { 'Previous ID': previousId, 'User ID': userId }, memory)

  test("a user's traits are compared with those under former ids, along a chain of aliases", () => {
    const memory = new SummaryMemory()
    identify(memory, { anonymousId: 'anon_1', traits: { plan: 'free', age: 36 } })
    alias(memory, 'anon_1', 'anon_2')
    expect(alias(memory, 'anon_2', 'u_3')).toBe('anon_2 → u_3')
    expect(identify(memory, { userId: 'u_3', traits: { plan: 'pro' } })).toBe('plan: free → pro')
    expect(identify(memory, { anonymousId: 'anon_1', traits: { plan: 'team', age: 36 } })).toBe(
      '(u_3) plan: pro → team age=36',
    )
  })

  test('an alias does not overwrite what is known about the new id', () => {
    const memory = new SummaryMemory()
    identify(memory, { anonymousId: 'anon_1', traits: { plan: 'free' } })
    identify(memory, { userId: 'u_2', traits: { plan: 'pro' } })
    alias(memory, 'anon_1', 'u_2')
    expect(identify(memory, { userId: 'u_2', traits: { plan: 'team' } })).toBe('plan: pro → team')
  })

  test('an id that is aliased again leads to its newest user, and its former user keeps its own traits', () => {
    const memory = new SummaryMemory()
    alias(memory, 'anon_1', 'u_2')
    identify(memory, { userId: 'u_2', traits: { plan: 'pro' } })
    alias(memory, 'anon_1', 'u_3')
    expect(identify(memory, { anonymousId: 'anon_1', traits: { plan: 'free' } })).toBe(
      '(u_3) plan=free',
    )
    expect(identify(memory, { userId: 'u_2', traits: { plan: 'pro' } })).toBe('plan=pro')
  })

  test('an alias from a former id leads to its user, and cycles end', () => {
    const memory = new SummaryMemory()
    identify(memory, { userId: 'u_2', traits: { plan: 'free' } })
    alias(memory, 'u_1', 'u_2')
    expect(alias(memory, 'anon_9', 'u_1')).toBe('anon_9 → u_1 (u_2)')
    expect(alias(memory, 'u_2', 'u_1')).toBe('u_2 → u_1 (u_2)')
    expect(alias(memory, 'u_2', 'u_2')).toBe('u_2 → u_2')
    expect(identify(memory, { userId: 'u_2', traits: { plan: 'pro' } })).toBe('plan: free → pro')
  })
})

describe('computed audiences', () => {
  const seen = (memory: SummaryMemory, value: JsonObject[string], computed = 'audience'): string =>
    line(
      'identify',
      {
        userId: 'u_1',
        traits: { plan: 'pro', big_spenders: value },
        context: { personas: { computation_class: computed, computation_key: 'big_spenders' } },
      },
      memory,
    )

  test('show membership as entered and left', () => {
    const memory = new SummaryMemory()
    expect(seen(memory, true)).toBe('entered big_spenders plan=pro')
    expect(seen(memory, true)).toBe('in big_spenders plan=pro')
    expect(seen(memory, false)).toBe('left big_spenders plan=pro')
    expect(seen(memory, false, 'journey_step')).toBe('not in big_spenders plan=pro')
  })

  test.each([
    { value: true, computed: 'trait', text: 'plan=pro big_spenders=true' },
    { value: 450, computed: 'audience', text: 'plan=pro big_spenders=450' },
  ])('show $computed with $value like other traits', ({ value, computed, text }) => {
    expect(seen(new SummaryMemory(), value, computed)).toBe(text)
  })
})

test('any body has a short summary in plain text', () => {
  const memory = new SummaryMemory(5)
  const field = fc.oneof(
    { weight: 3, arbitrary: fc.jsonValue() },
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
  )
  const fields = ['userId', 'anonymousId', 'groupId', 'Previous ID', 'previousId', 'User ID']
  const more = ['event', 'name', 'properties', 'traits', 'context']
  const body = fc.dictionary(fc.constantFrom(...fields, ...more), field, { noNullPrototype: true })
  fc.assert(
    fc.property(fc.constantFrom(...eventTypes), body, (type, value) => {
      for (const { text } of summarise({ type, body: value }, memory)) {
        expect(text).not.toMatch(/[\p{Cc}\p{Cs}\p{Bidi_Control}]/u)
        // Quotes and their escapes are not counted in the 60 characters.
        expect(Array.from(text).length).toBeLessThanOrEqual(122)
      }
    }),
    { numRuns: 500 },
  )
})

test('deep and large bodies are summarised', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`) as JsonObject
  const wide = Object.fromEntries(
    Array.from({ length: 50_000 }, (_, index) => [`k${index}`, index]),
  )
  const long = { text: 'x'.repeat(500_000) }
  for (const type of eventTypes) {
    for (const value of [deep, wide, long]) {
      const body = { userId: 'u_1', event: 'x', properties: value, traits: value, context: value }
      expect(line(type, body).length).toBeLessThan(1_000)
    }
  }
})
