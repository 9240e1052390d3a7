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
])('%j was meant to be %j', (wrong, meant) => {
  expect(nearestName(wrong, known)).toBe(meant)
})

test.each([
  ['sharedSecert', 'sharedSecret'],
  ['shared_secret', 'sharedSecret'],
  ['SHAREDSECRET', 'sharedSecret'],
  ['prt', 'port'],
  ['colour', undefined],
  ['past', undefined],
])('%j among longer names was meant to be %j', (wrong, meant) => {
  expect(nearestName(wrong, ['sharedSecret', 'port', 'host', 'enabled'])).toBe(meant)
})

test('nothing is near where nothing is known', () => {
  expect(nearestName('port', [])).toBeUndefined()
})
