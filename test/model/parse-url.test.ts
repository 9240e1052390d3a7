import { expect, test } from 'vitest'
import { parseUrl } from '../../src/model/index.ts'

test('reads URLs with letters beyond ASCII, even after many others', () => {
  // On Node 20, URL.canParse refuses these URLs once V8 has optimised its caller.
  for (let count = 0; count < 200_000; count++) parseUrl(`https://example.com/${count % 9}`)
  expect(parseUrl('https://bücher.example.com/ä')?.hostname).toBe('xn--bcher-kva.example.com')
})

test.each(['', 'example.com', 'https://', '/hook'])('%j is invalid', (text) => {
  expect(parseUrl(text)).toBeUndefined()
})
