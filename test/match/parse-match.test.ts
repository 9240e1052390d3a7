import { describe, expect, test } from 'vitest'
import { parseMatch, type Subject } from '../../src/match/index.ts'
import { alias, group, order, page, subject } from './subjects.ts'

const subjects: Readonly<Record<string, Subject>> = {
  order: subject(order),
  group: subject(group, { signature: 'missing', status: 503, path: '/hook/a?b=1', bytes: 2_049 }),
  alias: subject(alias, { signature: 'unchecked', path: '/hook', bytes: 2_048 }),
  page: subject(page, { signature: 'invalid', status: 401, bytes: 0 }),
  broken: subject(null, { status: 400, path: '/hook/broken' }),
}

/** The names of the matching requests, in order. */
function matching(text: string): readonly string[] {
  const match = parseMatch(text)
  return Object.keys(subjects).filter((name) => match.test(subjects[name]!))
}

const all = Object.keys(subjects)
const allBut = (...names: readonly string[]): readonly string[] =>
  all.filter((name) => !names.includes(name))

describe('a match finds', () => {
  test.each<[string, readonly string[]]>([
    ['type:track', ['order']],
    ['type:track,page', ['order', 'page']],
    ['type:"track"', ['order']],
    ['type:=track', ['order']],
    ['-type:track', allBut('order')],
    ['type:track user:u_1', ['order']],
    ['  type:track \t\n user:u_2 ', []],

    ['event:"Order Completed"', ['order']],
    ["event:'Order Completed'", ['order']],
    ['event:Order\\ Completed', ['order']],
    ['event:"Order*"', ['order']],
    ['event:Order*', ['order']],
    ['event:*d', ['order']],
    ['event:*r*C*t*', ['order']],
    ['event:*C*r*', []],
    ['event:*', ['order']],
    ['event:Order', []],
    ['event:order*', []],
    ['event:Other,"Order Completed"', ['order']],
    ['name:Pricing', ['page']],
    ['category:Sh*', ['page']],

    ['user:u_1', ['order', 'alias']],
    ['user:42', ['group']],
    ['userId:u_*', ['order', 'alias']],
    ['anonymous:anon_9', ['group', 'page']],
    ['previous:anon_9', ['alias']],
    ['group:g_1', ['group']],
    ['id:m-1', ['order']],
    ['messageId:m-1', ['order']],

    ['sig:valid', ['order', 'broken']],
    ['signature:invalid,missing', ['group', 'page']],
    ['sig:unchecked', ['alias']],
    ['status:503', ['group']],
    ['status:4xx', ['page', 'broken']],
    ['status:4xx,5xx', ['group', 'page', 'broken']],
    ['status:>=401', ['group', 'page']],
    ['status:400..401', ['page', 'broken']],
    ['path:/hook', ['alias']],
    ['path:/hook*', ['group', 'alias', 'broken']],
    ['path:/hook/a', ['group']],
    ['path:"/hook/a?b=1"', ['group']],
    ['path:*?b=1', ['group']],
    ['-path:/hook/a', allBut('group')],
    ['bytes:>2kb', ['group']],
    ['bytes:>=2kb', ['group', 'alias']],
    ['bytes:2kb', ['alias']],
    ['bytes:..500b', ['order', 'page', 'broken']],
    ['bytes:0.5KB..1mb', ['group', 'alias']],

    ['properties.revenue:39.95', ['order']],
    ['properties.revenue:3.995e1', ['order']],
    ['properties.revenue:"39.95"', ['order']],
    ['properties.revenue:"39.950"', []],
    ['properties.revenue:>10', ['order']],
    ['props.revenue:>39.95', []],
    ['properties.revenue:>=39.95', ['order']],
    ['properties.revenue:<39.95', []],
    ['properties.revenue:<=39.95', ['order']],
    ['properties.revenue:=39.95', ['order']],
    ['properties.revenue:10..20', []],
    ['properties.revenue:10..39.95', ['order']],
    ['properties.revenue:39.95..', ['order']],
    ['properties.revenue:..39.9', []],
    ['properties.quantity:3', ['order']],
    ['properties.quantity:3.0', ['order']],
    ['properties.quantity:"3"', []],
    ['properties.quantity:1,2,3', ['order']],
    ['properties.delta:-5', ['order']],
    ['properties.delta:-6..-4', ['order']],
    ['properties.sku:7', []],
    ['properties.sku:007', ['order']],
    ['properties.big:12345678901234567890', ['order']],
    ['properties.big:12345678901234567891', []],
    ['properties.big:1e999', []],
    ['properties.event:>10', []],
    ['properties.gift:true', ['order']],
    ['properties.gift:false', []],
    ['context.bot:false', ['page']],
    ['properties.gift:"true"', []],
    ['properties.paid:true', []],
    ['properties.paid:"true"', ['order']],
    ['properties.gift:t*', ['order']],
    ['properties.gift:>0', []],
    ['properties.coupon:null', ['order']],
    ['properties.coupon:*', []],
    ['properties.coupon:"null"', []],
    ['properties.missing:null', []],
    ['-properties.missing:null', all],
    ['properties.empty:""', ['order']],
    ['properties.zip:94*', ['order']],
    ['properties.note:"a, \\"b\\" \\* c\\\\d"', ['order']],
    ['properties.note:\'a, "b" * c\\\\d\'', ['order']],
    ['properties.note:"a\\*"', []],
    ['properties.products:*', []],

    ['properties.products.0.sku:A-1', ['order']],
    ['properties.products.1.sku:B*', ['order']],
    ['properties.products.2.sku:*', []],
    ['properties.products.00.sku:*', []],
    ['properties."a.b"."c d":deep', ['order']],
    ["properties.'a.b'.c\\ d:deep", ['order']],
    ['traits."Company Size":>10', ['group']],
    ["traits.name:O'Brien", ['group']],
    ['"Previous ID":anon_9', ['alias']],
    ['body."Previous ID":anon_9', ['alias']],
    ['body.version:1', ['order', 'group']],
    ['context.ip:10.*', ['order']],
    ['context.page.url:https://example.com/a?b=c', ['order']],

    ['has:context.ip', ['order']],
    ['has:properties.coupon', ['order']],
    ['has:context', ['order', 'group', 'page']],
    ['has:body', allBut('broken')],
    ['-has:body', ['broken']],
    ['has:event', ['order']],
    ['has:user', ['order', 'group', 'alias']],
    ['has:traits."Company Size"', ['group']],
    ['has:"Previous ID"', ['alias']],
    ['has:status', all],

    ['order', ['order']],
    ['COMPLETED', ['order']],
    ['"r comp"', ['order']],
    ['o*ted', ['order']],
    ['pricing', ['page']],
    ['-ali -a*k', ['group', 'page', 'broken']],
    ['*', allBut('broken')],
    ['"foo:bar"', []],

    ['type:TRACK,Page', ['order', 'page']],
    ['sig:wrong', ['page']],
    ['sig:WRONG,Missing', ['group', 'page']],
    ['m-1', ['order']],
    ['ANON_9', ['group', 'alias', 'page']],
    ['b-2', ['order']],
    ['39.9', ['order']],
    ['example.com', ['order']],
    ['"company size"', ['group']],
    ['properties', []],
    ['toString', []],
    ['"never"', []],

    ['body.__proto__:*', []],
    ['has:body.__proto__', []],
    ['has:body.constructor', []],
    ['has:properties.products.length', []],
    ['has:properties.revenue.length', []],
  ])('%s', (text, expected) => {
    expect(matching(text)).toEqual(expected)
  })
})

test('bare words find a received request by the words in its row of the list', () => {
  const wrong = subject(page, {
    signature: 'invalid',
    status: 401,
    reason: 'It is a digest in hex',
  })
  const forward = { status: 502, error: null }
  const hungUp = subject(null, { signature: 'unchecked', status: null, reason: null, forward })
  const found = (text: string): readonly string[] =>
    Object.entries({ wrong, hungUp, unreceived: subject(page) })
      .filter(([, each]) => parseMatch(text).test(each))
      .map(([name]) => name)
  expect(found('WRONG')).toEqual(['wrong'])
  expect(found('401')).toEqual(['wrong'])
  expect(found('hex')).toEqual(['wrong'])
  expect(found('PAGE')).toEqual(['wrong', 'unreceived'])
  expect(found('no webhook')).toEqual(['hungUp'])
  expect(found('"no answer" unchecked')).toEqual(['hungUp'])
  expect(found('502')).toEqual(['hungUp'])
  expect(found('*')).toEqual(['wrong', 'unreceived'])
})

test('keys that every object inherits match only if the body itself has them', () => {
  const body = JSON.parse('{"type":"track","traits":{"__proto__":{"constructor":1}}}') as never
  expect(parseMatch('traits.__proto__.constructor:1').test(subject(body))).toBe(true)
  expect(parseMatch('traits.constructor:*').test(subject(body))).toBe(false)
})

test('an id can have either of two keys, and the first one present counts', () => {
  const both = subject({ type: 'alias', userId: 'u_1', 'User ID': 'u_2' })
  expect(parseMatch('user:u_1').test(both)).toBe(true)
  expect(parseMatch('user:u_2').test(both)).toBe(false)
  const previous = subject({ type: 'alias', 'Previous ID': 'anon_1', previousId: 'anon_2' })
  expect(parseMatch('previous:anon_1').test(previous)).toBe(true)
  expect(parseMatch('previous:anon_2').test(previous)).toBe(false)
})

describe('a match is formatted', () => {
  test.each([
    ['type:track  user:u_1', 'type:track user:u_1'],
    ["-event:'Order Completed'", '-event:"Order Completed"'],
    ['userId:42', 'user:"42"'],
    ['props.revenue:=10,>20', 'properties.revenue:10,>20'],
    ['traits."plan".\'a b\':"true"', 'traits.plan."a b":"true"'],
    ['"Previous ID":x', 'body."Previous ID":x'],
    ['has:signature', 'has:sig'],
    ['type:TRACK sig:wrong', 'type:track sig:invalid'],
    ['Order "never" "x3"', 'order "never" "x3"'],
    ['"a*b" "a\\*b"', 'a*b "a\\*b"'],
  ])('%s as %s', (text, written) => {
    expect(parseMatch(text).text).toBe(written)
    expect(parseMatch(written)).toEqual(parseMatch(text))
  })
})
