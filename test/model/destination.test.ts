import { expect, test } from 'vitest'
import { endpointName, hiddenEndpoint } from '../../src/model/index.ts'

test.each([
  ['https://example.com/hook', 'https://example.com/hook'],
  ['https://example.com/hook?token=no-secret', 'https://example.com/hook?…'],
  ['https://example.com/hook#no-secret', 'https://example.com/hook'],
  ['https://example.com:8443?a=no-secret\nb', 'https://example.com:8443?…'],
  ['ftp://user:no-secret@example.com/@x', 'ftp://example.com/@x'],
  ['//user:no-secret@example.com', '//example.com'],
  ['user:no-secret@example.com/hook?no-secret', 'example.com/hook?…'],
  ['example.com/@x', 'example.com/@x'],
  ['', ''],
])('%j is shown without user and query', (url, name) => {
  expect(endpointName(url)).toBe(name)
})

test.each([
  ['https://example.com/', 'https://example.com/'],
  ['https://example.com:8443', 'https://example.com:8443'],
  ['https://example.com/services/no-secret', 'https://example.com/…#89682c'],
  ['https://example.com/services/no-other', 'https://example.com/…#4bd8f7'],
  ['https://example.com/?token=no-secret', 'https://example.com/…#19adfc'],
  ['https://user:no-secret@example.com/', 'https://example.com/…#2ba7f6'],
  ['example.com/no-secret', 'example.com/…#034d98'],
])('%j is shown in logs only by its host and a digest', (url, name) => {
  expect(hiddenEndpoint(url)).toBe(name)
})
