import { expect, test } from 'vitest'
import { nearestName } from '../../../src/service/configuration/nearest-name.ts'

const known = ['sharedSecret', 'port', 'host', 'writeKeys', 'endpoints', 'enabled']

test.each([
  ['sharedSecert', 'sharedSecret'],
  ['shared_secret', 'sharedSecret'],
  ['SHAREDSECRET', 'sharedSecret'],
  ['prot', 'port'],
  ['prt', 'port'],
  ['hosts', 'host'],
  ['writeKey', 'writeKeys'],
  ['endpoint', 'endpoints'],
  ['enable', 'enabled'],
  ['colour', undefined],
  ['past', undefined],
  ['', undefined],
])('the known name next to %j is %s', (wrong, expected) => {
  expect(nearestName(wrong, known)).toBe(expected)
})

test('nothing is near where nothing is known', () => {
  expect(nearestName('port', [])).toBeUndefined()
})
