import { expect, test } from 'vitest'
import { parseUrl } from '../../src/model/index.ts'

test('reads URLs with letters beyond ASCII, also after a thousand others', () => {
  // URL.canParse refuses them on Node 20 once V8 has optimised its caller.
  for (let count = 0; count < 200_000; count++) parseUrl(`https://example.com/${count % 9}`)
  expect(parseUrl('https://bücher.example.com/ä')?.hostname).toBe('xn--bcher-kva.example.com')
})

test.each(['', 'example.com', 'https://', '/hook'])('%j is invalid', (text) => {
  expect(parseUrl(text)).toBeUndefined()
})
