import { expect, test } from 'vitest'
import { isLocalRequest } from '../../src/receiver/api-exchange.ts'

test.each([
  ['127.0.0.1', {}, true],
  ['127.8.0.1', {}, true],
  ['::1', {}, true],
  ['::ffff:127.0.0.1', {}, true],
  ['192.0.2.1', {}, false],
  ['::ffff:192.0.2.1', {}, false],
  ['2001:db8::1', {}, false],
  [undefined, {}, false],
  ['127.0.0.1', { 'x-forwarded-for': '192.0.2.1' }, false],
  ['::1', { forwarded: 'for=192.0.2.1' }, false],
])('whether a request from %s with %j is local: %s', (remoteAddress, headers, isLocal) => {
  expect(isLocalRequest(remoteAddress, headers)).toBe(isLocal)
})
