import { expect, test } from 'vitest'
import { nearestName } from '../../src/match/nearest-name.ts'

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
