import { expect, test } from 'vitest'
import { endpointName } from '../../src/model/index.ts'

test.each([
  ['https://example.com/hook', 'https://example.com/hook'],
  ['https://example.com/hook?token=no-secret', 'https://example.com/hook'],
  ['https://example.com/hook#no-secret', 'https://example.com/hook'],
  ['https://example.com:8443?a=no-secret\nb', 'https://example.com:8443'],
  ['ftp://user:no-secret@example.com/@x', 'ftp://example.com/@x'],
  ['//user:no-secret@example.com', '//example.com'],
  ['user:no-secret@example.com/hook?no-secret', 'example.com/hook'],
  ['example.com/@x', 'example.com/@x'],
  ['', ''],
])('%j is shown without what may be secret', (url, name) => {
  expect(endpointName(url)).toBe(name)
})
