import fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainText, shortText } from '../../src/model/index.ts'

test.each([
  ['colours', '\u001b[31mred\u001b[0m', 'red'],
  ['a sequence that begins with one character', '\u009b31mred', 'red'],
  ['a link', '\u001b]8;;https://example.com\u0007here\u001b]8;;\u0007', 'here'],
  ['an escape without its end', 'a\u001b', 'a'],
  ['control characters', 'a\u0000b\u0008c\u007fd\u0085e\u009cf', 'abcd ef'],
  ['line breaks and tabs', 'one\r\ntwo\tthree\u2028four', 'one two three four'],
  ['bidi controls', 'a\u202eb\u2066c\u200fd\u061ce', 'abcde'],
  ['half a character', 'a\ud83db', 'ab'],
  ['nothing from other scripts', 'Größe 東京 שלום 🔑', 'Größe 東京 שלום 🔑'],
])('removes %s', (_name, text, expected) => {
  expect(plainText(text)).toBe(expected)
})

test('removes every control sequence from any text', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary-ascii' }),
      (one, other) => {
        const plain = plainText(`\u001b[${one}\u001b]${other}`)
        expect(plain).not.toMatch(/[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/u)
        expect(plainText(plain)).toBe(plain)
      },
    ),
  )
})

test('a text is cut to 60 characters, and never inside a character', () => {
  expect(shortText('a'.repeat(60))).toBe('a'.repeat(60))
  expect(shortText('a'.repeat(61))).toBe(`${'a'.repeat(59)}…`)
  expect(shortText('🔑'.repeat(60))).toBe('🔑'.repeat(60))
  expect(shortText('🔑'.repeat(500), 3)).toBe('🔑🔑…')
})
