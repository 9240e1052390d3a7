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
  ['127.0.0.1', { 'x-forwarded-host': 'hooks.example.com' }, false],
  ['127.0.0.1', { 'x-forwarded-proto': 'https' }, false],
  ['127.0.0.1', { 'x-real-ip': '192.0.2.1' }, false],
  ['127.0.0.1', { 'true-client-ip': '192.0.2.1' }, false],
  ['127.0.0.1', { 'cf-connecting-ip': '192.0.2.1' }, false],
  ['127.0.0.1', { via: '1.1 proxy.example.com' }, false],
  ['127.0.0.1', { 'x-team': 'a', 'sec-fetch-site': 'none', 'user-agent': 'curl' }, true],
])('whether a request from %s with %j is local: %s', (remoteAddress, headers, isLocal) => {
  const request = { headers, socket: { remoteAddress } }
  expect(isLocalRequest({ ...request, httpVersion: '1.1' })).toBe(isLocal)
  // A plain proxy_pass of nginx adds no header.
  expect(isLocalRequest({ ...request, httpVersion: '1.0' })).toBe(false)
})
