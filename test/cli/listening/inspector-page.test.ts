import { expect, test } from 'vitest'
import { inspectorUrl } from '../../../src/cli/listening/inspector-page.ts'

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
