import { expect, test } from 'vitest'
import { knownNames, nearestName, unknownName } from '../../src/model/index.ts'

const known = ['event', 'user', 'userId', 'status']

test.each([
  ['evnt', 'event'],
  ['uesr', 'user'],
  ['users', 'user'],
  ['USERID', 'userId'],
  ['userid', 'userId'],
  ['stauts', 'status'],
  ['satus', 'status'],
  ['sttxus', 'status'],
  ['sxxxus', undefined],
  ['state', 'status'],
  ['stare', undefined],
  ['use', 'user'],
  ['', undefined],
])('for %j, the nearest name is %j', (wrong, meant) => {
  expect(nearestName(wrong, known)).toBe(meant)
})

test.each([
  ['sharedSecert', 'sharedSecret'],
  ['shared_secret', 'sharedSecret'],
  ['SHAREDSECRET', 'sharedSecret'],
  ['prt', 'port'],
  ['colour', undefined],
  ['past', undefined],
])('for %j among longer names, the nearest name is %j', (wrong, meant) => {
  expect(nearestName(wrong, ['sharedSecret', 'port', 'host', 'enabled'])).toBe(meant)
})

test('there is no nearest name if there are no names', () => {
  expect(nearestName('port', [])).toBeUndefined()
})

test.each([
  [undefined, ['website'], 'There is no such source: choose from website'],
  ['nope', ['website', 'app'], 'There is no source "nope": choose from website, app'],
  ['webiste', ['website', 'app'], 'There is no source "webiste", but there is "website"'],
  ['nope', [], 'There is no source "nope": there are none'],
])('an unknown name %j among %j is explained', (given, known, text) => {
  expect(unknownName('source', known, given)).toBe(text)
})

test('at most 20 known names are listed', () => {
  const known = Array.from({ length: 22 }, (_, index) => `n${index}`)
  expect(knownNames(known)).toMatch(/^choose from n0, .*, n19 and 2 more$/)
})
