import { describe, expect, test } from 'vitest'
import { SettingError } from '../../src/model/index.ts'
import { MatchError, parseExpectation, parseMatch } from '../../src/match/index.ts'

function errorOf(read: () => unknown): MatchError {
  try {
    read()
  } catch (error) {
    if (error instanceof MatchError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

/** Returns the error of a text: carets under the faulty part, the message and the advice. */
function refusal(read: (text: string) => unknown, text: string): readonly string[] {
  const error = errorOf(() => read(text))
  const carets = ' '.repeat(error.offset) + '^'.repeat(Math.max(error.length, 1))
  return [carets, error.message.replace(/^.*?: /, ''), error.hint?.split('\n')[0] ?? '']
}

type Row = readonly [text: string, carets: string, problem: string, advice: string | RegExp]

function refusalIn([, carets, problem, advice]: Row): readonly unknown[] {
  return [carets, problem, typeof advice === 'string' ? advice : expect.stringMatching(advice)]
}

const fields =
  'Fields are type, event, user, anonymous, previous, group, id, name, category, sig, status, path, bytes, has, properties.<key>, traits.<key>, context.<key>, body.<key>, or a key of the body in quotes.'
const missingValue = 'Write it right after the colon or comma. "" is the empty string.'
const separate =
  'Put a space between terms. A value with commas, quotes or spaces needs quotes around it.'
const dash =
  'Put "-" directly before a term, as in -type:page. To search for a "-", put it in quotes.'
const nothing = 'Write a condition such as type:track event:"Order*", or * for any webhook.'
const backslash =
  'A backslash can escape quotes, asterisks, spaces and other special characters. Write \\\\ for a backslash.'
const number = 'Write a number such as 10, -3 or 0.5 after it, without quotes.'
const status =
  'A status is a number such as 503, a class such as 5xx, a limit such as >=500, or a range such as 500..599.'
const size =
  'A size is a number of bytes such as 500, 2kb or 1.5mb, a limit such as >2kb, or a range such as 1kb..2kb.'

describe('a match is refused', () => {
  test.each<Row>([
    ['', '^', 'there is nothing to match', nothing],
    ['  ', '^', 'there is nothing to match', nothing],
    ['typ:track', '^^^', 'there is no field "typ"', `Did you mean type? ${fields}`],
    [
      'sig:valid uesr:u_1',
      '          ^^^^',
      'there is no field "uesr"',
      `Did you mean user? ${fields}`,
    ],
    ['-Type:page', ' ^^^^', 'there is no field "Type"', `Did you mean type? ${fields}`],
    [
      'revenue:>10',
      '^^^^^^^',
      'there is no field "revenue"',
      `Did you mean properties.revenue, traits.revenue or body.revenue? ${fields}`,
    ],
    ['trait.plan:pro', '^^^^^', 'there is no field "trait"', `Did you mean traits? ${fields}`],
    ['ä/ö:1', '^^^', 'there is no field "ä/ö"', fields],
    [
      '__proto__:1',
      '^^^^^^^^^',
      'there is no field "__proto__"',
      /Did you mean properties\.__proto__/,
    ],
    [':x', '^', 'a key is missing here', fields],
    ['properties..a:1', '           ^', 'a key is missing here', fields],
    ['has:context.', '            ^', 'a key is missing here', fields],
    ['has: x', '    ^', 'a key is missing here', fields],
    ['event.a:1', '^^^^^^^', '"event" has no keys', /body\.event\.<key>/],
    ['has:user.name', '    ^^^^^^^^^', '"user" has no keys', /body\.user\.<key>/],
    ['properties:1', '^^^^^^^^^^', '"properties" is an object', /properties\.<key>:<value>/],
    ['body:1', '^^^^', '"body" is an object', /has:body/],
    [
      'type:trak',
      '     ^^^^',
      '"trak" is not a value of this field',
      /^Did you mean track\? Values are ide/,
    ],
    [
      'type:page,*',
      '          ^',
      '"*" is not a value of this field',
      /^Values are identify, track/,
    ],
    [
      'sig:bad',
      '    ^^^',
      '"bad" is not a value of this field',
      /valid, invalid, missing, unchecked\.$/,
    ],
    ['sig:>valid', '     ^^^^^', '"valid" is not a value of this field', /^Did you mean valid/],
    ['status:ok', '       ^^', '"ok" is not a value of this field', status],
    ['status:6xx', '       ^^^', '"6xx" is not a value of this field', status],
    ['status:>5xx', '        ^^^', '"5xx" is not a value of this field', status],
    ['bytes:5xx', '      ^^^', '"5xx" is not a value of this field', size],
    ['larger:2kb', '^^^^^^', 'there is no field "larger"', /Fields are/],
    ['type:', '     ^', 'a value is missing here', missingValue],
    ['type: track', '     ^', 'a value is missing here', missingValue],
    ['type:track,', '           ^', 'a value is missing here', missingValue],
    ['properties.a:>', '              ^', 'a value is missing here', missingValue],
    ['properties.a:>b', '              ^', '">" compares only numbers', number],
    ['properties.a:>="5"', '               ^^^', '">=" compares only numbers', number],
    ['properties.a:1,<x*', '                ^^', '"<" compares only numbers', number],
    ['properties.a:20..10', '             ^^^^^^', 'this range is empty', /lower end first/],
    ['properties.a:!=5', '             ^^', '"!=" is not an operator', /put "-" before it/],
    ['event:>a', '       ^', 'this field is text, and ">" compares only numbers', /in quotes/],
    ['event:"a', '      ^', 'this quote is not closed', /\\" for the character itself/],
    ["event:'a", '      ^', 'this quote is not closed', /\\' for the character itself/],
    ['"a b', '^', 'this quote is not closed', /Add "/],
    ['event:a"b"', '       ^', 'the term should end here', separate],
    ['event:"a"b', '         ^', 'the term should end here', separate],
    ['has:context.ip,user', '              ^', 'the term should end here', separate],
    ['has:context.ip:1', '              ^', 'the term should end here', separate],
    ['"a"b', '   ^', 'the word should end here', /needs quotes/],
    ['a,b', ' ^', 'the word should end here', /needs quotes/],
    ['event:a\\b', '       ^', 'this backslash does not escape anything', backslash],
    ['event:a\\', '       ^', 'this backslash does not escape anything', backslash],
    ['a -', '  ^', 'a term is missing after this "-"', dash],
    ['--a', '^', 'a term is missing after this "-"', dash],
    ['!type:page', '^', '"!" is not an operator', /put "-" before it/],
    ['user=u_1', '    ^', 'a colon is missing before this', /user:u_1/],
    ['properties.a>5', '            ^', 'a colon is missing before this', /revenue:>10/],
    [
      'traits.plan',
      '^^^^^^^^^^^',
      'a condition is missing',
      'Write has:traits.plan, or traits.plan:<value>.',
    ],
    ['a AND b', '  ^^^', '"AND" is not an operator', /Leave it out/],
    ['a OR b', '  ^^', '"OR" is not an operator', /type:track,page/],
    ['NOT b', '^^^', '"NOT" is not an operator', /Put "-"/],
    [
      'type:track x3',
      '           ^^',
      'only an expectation can have a count or a time',
      /in quotes/,
    ],
    ['never', '^^^^^', 'only an expectation can have a count or a time', /in quotes/],
    ['within 2s', '^^^^^^', 'only an expectation can have a count or a time', /in quotes/],
  ])('%j', (...row) => {
    expect(refusal(parseMatch, row[0])).toEqual(refusalIn(row))
  })
})

describe('an expectation is refused', () => {
  test.each<Row>([
    ['x3', '^', 'there is nothing to match', nothing],
    ['a x3.', '  ^^^', 'this is not a count', /exactly three/],
    ['a x5..1', '  ^^^^^', 'this is not a count', /exactly three/],
    ['a x..5', '  ^^^^', 'this is not a count', /exactly three/],
    ['a x9999999999', '  ^^^^^^^^^^^', 'this is not a count', /exactly three/],
    ['a x3 x4', '     ^^', 'this is given twice', /Remove one/],
    ['a never x1', '        ^^', 'this is given twice', /Remove one/],
    ['a within 1s within 2s', '            ^^^^^^', 'this is given twice', /Remove one/],
    ['a within', '        ^', '"within" needs a duration', /within 2s/],
    ['a within x3', '         ^^', '"within" needs a duration', /within 2s/],
    ['a within 0s', '         ^^', '"within" needs a duration', /within 2s/],
    ['a x3 b', '     ^', 'the count and the time must come last', /Write the match before/],
    ['never type:track', '      ^^^^^^^^^^', 'the count and the time must come last', /before/],
    ['typ:a never', '^^^', 'there is no field "typ"', /Did you mean type/],
  ])('%j', (...row) => {
    expect(refusal(parseExpectation, row[0])).toEqual(refusalIn(row))
  })
})

describe('an error of a match', () => {
  test('is a SettingError that counts characters from 1 and shows the position', () => {
    const error = errorOf(() => parseMatch('type:track uesr:u_1'))
    expect(error).toBeInstanceOf(SettingError)
    expect(error).toMatchObject({
      name: 'MatchError',
      code: 'invalid_setting',
      setting: 'match',
      message: 'Cannot read the match expression at character 12: there is no field "uesr"',
      offset: 11,
      length: 4,
      excerpt: '  type:track uesr:u_1\n             ^^^^',
    })
    expect(error.hint).toBe(`Did you mean user? ${fields}\n${error.excerpt}`)
  })

  test('shows only the text around the position, without characters that would shift the carets', () => {
    const before = `event:${'🔑'.repeat(100)} `
    const { offset, excerpt } = errorOf(() =>
      parseMatch(`${before}a\u202eb\u001b:1 ${'c'.repeat(99)}`),
    )
    expect(offset).toBe(before.length)
    const [text = '', carets] = excerpt.split('\n')
    expect(text).toBe(`  …${'🔑'.repeat(59)} a\ufffdb\ufffd:1 ${'c'.repeat(27)}…`)
    expect(carets).toBe(`${' '.repeat(63)}^^^^`)
  })

  test.each([
    ['up to 60 characters before the position', 60, '', ''],
    ['at most 60 characters before the position', 61, '…', ''],
    ['up to 30 characters after the position', 0, '', '', 30],
    ['at most 30 characters after the position', 0, '', '…', 31],
  ])('shows %s', (...[, before, cutBefore, cutBehind, behind = 1]) => {
    const text = `${' '.repeat(before)}=${'a'.repeat(behind)}`
    const { excerpt } = errorOf(() => parseMatch(text))
    const shownBefore = ' '.repeat(Math.min(before, 60))
    const shownBehind = 'a'.repeat(Math.min(behind, 30))
    expect(excerpt.split('\n')[0]).toBe(`  ${cutBefore}${shownBefore}=${shownBehind}${cutBehind}`)
  })

  test.each([
    ['a text of 2,000 characters', 'a'.repeat(2_000), 'a'.repeat(2_001), 2_000],
    ['fifty terms', 'a '.repeat(50), 'a '.repeat(51), 100],
    ['32 keys', `has:body${'.a'.repeat(31)}`, `has:body${'.a'.repeat(32)}`, 4],
  ])('is raised for more than %s', (...[, good, bad, offset]) => {
    expect(() => parseMatch(good)).not.toThrow()
    expect(errorOf(() => parseMatch(bad)).offset).toBe(offset)
  })
})
