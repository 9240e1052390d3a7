import { expect, test } from 'vitest'
import { nearestName } from '../../src/model/index.ts'

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
