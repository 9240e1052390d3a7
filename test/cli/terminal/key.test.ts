import { expect, test } from 'vitest'
import { keysOf } from '../../../src/cli/terminal/key.ts'

test.each([
  { pressed: 'enter', sent: '\r', kind: 'enter' },
  { pressed: 'escape', sent: '\u001b', kind: 'escape' },
  { pressed: 'backspace', sent: '\u007f', kind: 'backspace' },
  { pressed: 'Ctrl-C', sent: '\u0003', kind: 'interrupt' },
  { pressed: 'Ctrl-Z', sent: '\u001a', kind: 'suspend' },
  { pressed: 'up', sent: '\u001b[A', kind: 'up' },
  { pressed: 'up, as an application', sent: '\u001bOA', kind: 'up' },
  { pressed: 'left', sent: '\u001b[D', kind: 'unknown' },
  { pressed: 'F5', sent: '\u001b[15~', kind: 'unknown' },
  { pressed: 'F1', sent: '\u001bOP', kind: 'unknown' },
  { pressed: 'Alt-q', sent: '\u001bq', kind: 'unknown' },
  { pressed: 'Ctrl-G', sent: '\u0007', kind: 'unknown' },
  { pressed: 'a character that turns the writing direction', sent: '\u202e', kind: 'unknown' },
])('reads $pressed', ({ sent, kind }) => {
  expect(keysOf(sent)).toEqual([{ kind }])
})

test('reads several keys that arrive at once, even characters outside the first plane of Unicode', () => {
  expect(keysOf('a\u001b[Bé😀\u001b\u001b[A\r')).toEqual([
    { kind: 'character', text: 'a' },
    { kind: 'down' },
    { kind: 'character', text: 'é' },
    { kind: 'character', text: '😀' },
    { kind: 'escape' },
    { kind: 'up' },
    { kind: 'enter' },
  ])
  expect(keysOf('')).toEqual([])
})
