import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { inspectorUrl, networkPageUrl } from '../../../src/cli/listening/inspector-page.ts'

test.each([
  ['http://127.0.0.1:4100', 'http://127.0.0.1:4100/_evroute/'],
  ['http://localhost:4100', 'http://localhost:4100/_evroute/'],
  ['https://[::1]:4100', 'https://[::1]:4100/_evroute/'],
  ['http://0.0.0.0:4100', 'http://127.0.0.1:4100/_evroute/'],
  ['http://[::]:4100', 'http://127.0.0.1:4100/_evroute/'],
  ['http://192.0.2.1:4100', null],
])('the page of a receiver at %s is at %s', (url, page) => {
  expect(inspectorUrl(url)).toBe(page)
})

test('other machines get a link with the token, even if the receiver listens on all addresses', () => {
  const link = 'http://192.0.2.1:4100/_evroute/?token=abc'
  expect(inspectorUrl('http://192.0.2.1:4100', 'abc')).toBe(link)
  expect(networkPageUrl('http://192.0.2.1:4100', 'abc')).toBe(link)
  expect(networkPageUrl('http://0.0.0.0:4100', 'abc')).toBe(
    `http://${hostname()}:4100/_evroute/?token=abc`,
  )
  expect(networkPageUrl('http://127.0.0.1:4100', null)).toBeNull()
})
