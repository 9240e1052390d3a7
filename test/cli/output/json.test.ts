import { describe, expect, test } from 'vitest'
import { formatJson } from '../../../src/cli/output/json.ts'
import { colorStyle, plainStyle } from '../../../src/cli/output/style.ts'

describe('formatJson', () => {
  test('indents the same JSON', () => {
    const value = { 'a "b": ': [1, -2.5e-7, true, null], c: { d: 'true 1 null' }, e: [] }
    const text = formatJson(value, plainStyle)
    expect(text).toBe(JSON.stringify(value, null, 2))
  })

  test('colours keys, strings and other scalars differently', () => {
    const text = formatJson({ a: 'x: 1', n: -1, t: true }, colorStyle())
    const cyan = (words: string) => `\u001b[36m${words}\u001b[39m`
    expect(text.split('\n').slice(1, -1)).toEqual([
      `  ${cyan('"a"')}: \u001b[32m"x: 1"\u001b[39m,`,
      `  ${cyan('"n"')}: \u001b[33m-1\u001b[39m,`,
      `  ${cyan('"t"')}: \u001b[33mtrue\u001b[39m`,
    ])
  })

  test('leaves out control characters', () => {
    const text = formatJson({ '\u202e': '\u009b31m\u001b[31m\u007f' }, plainStyle)
    expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u)
  })
})
