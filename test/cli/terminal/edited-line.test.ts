import { describe, expect, test } from 'vitest'
import { editLine, viewLine, keysOf, type EditedLine } from '../../../src/cli/terminal/key.ts'

const empty: EditedLine = { before: '', after: '' }
const [left, right, home, end] = ['\u001b[D', '\u001b[C', '\u0001', '\u0005']
const [backspace, remove, eraseLine, eraseWord] = ['\u007f', '\u001b[3~', '\u0015', '\u0017']

/** The line after keys, with the cursor as `|`. */
function typed(input: string): string {
  const { before, after } = keysOf(input).reduce(editLine, empty)
  return `${before}|${after}`
}

describe('editing', () => {
  test.each([
    { keys: 'type', input: 'type', line: 'type|' },
    { keys: 'left and a character', input: `ac${left}b`, line: 'ab|c' },
    { keys: 'left and right past the ends', input: `${left}a${right}${right}b`, line: 'ab|' },
    { keys: 'home and end', input: `bc${home}a${end}d`, line: 'abcd|' },
    { keys: 'backspace', input: `a😀${backspace}b`, line: 'ab|' },
    { keys: 'backspace at the start', input: `a${home}${backspace}`, line: '|a' },
    { keys: 'left and delete', input: `a😀b${left}${left}${remove}`, line: 'a|b' },
    { keys: 'Ctrl-U', input: `abc${left}${eraseLine}`, line: '|c' },
    { keys: 'Ctrl-W', input: `type:track sig:valid ${eraseWord}`, line: 'type:track |' },
    { keys: 'what does not edit', input: 'a\u001b[15~\rb', line: 'ab|' },
  ])('$keys', ({ input, line }) => {
    expect(typed(input)).toBe(line)
  })

  test('ends at the maximum length of a match', () => {
    const full = { before: 'x'.repeat(10_000), after: '' }
    expect(editLine(full, { kind: 'character', text: 'y' })).toEqual(full)
  })
})

describe('the part that is shown', () => {
  test.each([
    { name: 'all', line: { before: 'abc', after: 'de' }, text: 'abcde', cursorBack: 2 },
    {
      name: 'the end',
      line: { before: 'abcdefghijkl', after: '' },
      text: '…fghijkl',
      cursorBack: 0,
    },
    {
      name: 'the start',
      line: { before: '', after: 'abcdefghij' },
      text: 'abcdefg…',
      cursorBack: 8,
    },
    {
      name: 'around the cursor',
      line: { before: 'abcdef', after: 'ghijkl' },
      text: 'abcdefg…',
      cursorBack: 2,
    },
    {
      name: 'wide characters',
      line: { before: '漢字漢字漢', after: '' },
      text: '…漢字漢',
      cursorBack: 0,
    },
  ])('$name', ({ line, text, cursorBack }) => {
    expect(viewLine(line, 9)).toEqual({ text, cursorBack })
  })

  test('leaves the cursor a column in the narrowest terminal', () => {
    expect(viewLine({ before: 'abc', after: 'd' }, 0)).toEqual({ text: '…', cursorBack: 0 })
  })
})
