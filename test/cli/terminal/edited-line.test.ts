import { describe, expect, test } from 'vitest'
import { cutFromStart, editLine, keysOf } from '../../../src/cli/terminal/key.ts'

const [backspace, eraseLine] = ['\u007f', '\u0015']

describe('editing', () => {
  test.each([
    { keys: 'type', input: 'type', line: 'type' },
    { keys: 'backspace', input: `a😀${backspace}b`, line: 'ab' },
    { keys: 'backspace at the start', input: `${backspace}a`, line: 'a' },
    { keys: 'Ctrl-U', input: `abc${eraseLine}d`, line: 'd' },
    { keys: 'what does not edit', input: 'a\u001b[15~\u001b[D\rb', line: 'ab' },
  ])('$keys', ({ input, line }) => {
    expect(keysOf(input).reduce(editLine, '')).toBe(line)
  })

  test('ends at the maximum length of a match', () => {
    const full = 'x'.repeat(10_000)
    expect(editLine(full, { kind: 'character', text: 'y' })).toBe(full)
  })
})

describe('the part that is shown', () => {
  test.each([
    { name: 'all', line: 'abcdefgh', text: 'abcdefgh' },
    { name: 'the end', line: 'abcdefghijkl', text: '…fghijkl' },
    { name: 'wide characters', line: '漢字漢字漢', text: '…漢字漢' },
  ])('$name', ({ line, text }) => {
    expect(cutFromStart(line, 8)).toBe(text)
  })
})
