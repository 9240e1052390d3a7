import { describe, expect, test } from 'vitest'
import { foreignSign, isForeignOrigin } from '../../src/http/index.ts'

describe('the host of a request', () => {
  test.each([
    'localhost',
    'LOCALHOST:4001',
    'evroute.localhost:4001',
    '127.0.0.1',
    '127.0.0.1:4001',
    '127.8.9.10:80',
    '[::1]',
    '[::1]:4001',
    '[0:0::1]:4001',
  ])('%s is accepted', (host) => {
    expect(foreignSign({ host })).toBeUndefined()
  })

  test.each([
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    'evil-localhost',
    '127.0.0.1.evil.example',
    'ops.example.com',
    'evil.example#localhost',
    'evil.example/localhost',
    'evil.example?localhost',
    'localhost@evil.example',
    'evil.example\\@localhost',
    'localhost/evil.example',
    'evil@localhost',
    'localhost:4001:80',
    'localhost:x',
    'localhost evil.example',
    '0.0.0.0',
    '10.1.2.3:4001',
    '192.168.0.1',
    '[::]',
    '[fd00::1]:4001',
    '[::1',
    '[localhost]',
  ])('%s is refused', (host) => {
    expect(foreignSign({ host })).toBe('foreign_host')
  })
})

describe('the origin of a request', () => {
  test.each([
    ['127.0.0.1:4001', 'http://127.0.0.1:4001'],
    ['localhost:4001', 'http://LOCALHOST:4001'],
    ['localhost', 'http://localhost'],
    ['localhost:80', 'http://localhost'],
    ['localhost:443', 'https://localhost'],
  ])('at %s, %s is the same origin', (host, origin) => {
    expect(foreignSign({ host, origin })).toBeUndefined()
  })

  test.each([
    ['127.0.0.1:4001', 'null'],
    ['127.0.0.1:4001', ''],
    ['127.0.0.1:4001', 'http://127.0.0.1:4002'],
    ['127.0.0.1:4001', 'http://127.0.0.1'],
    ['127.0.0.1:4001', 'http://localhost:4001'],
    ['127.0.0.1:4001', 'https://evil.example'],
    ['127.0.0.1:4001', 'http://127.0.0.1:4001.evil.example'],
    ['127.0.0.1:4001', 'http://127.0.0.1:4001@evil.example'],
    ['localhost', 'file://localhost'],
    ['localhost', 'chrome-extension://localhost'],
    ['localhost', '//localhost'],
  ])('at %s, %s is foreign', (host, origin) => {
    expect(foreignSign({ host, origin })).toBe('foreign_origin')
  })
})

describe('a request without an Origin', () => {
  const host = '127.0.0.1:4001'
  const link = { host, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

  test.each([
    ['none', undefined],
    ['same-origin', undefined],
    ['same-site', 'foreign_origin'],
    ['cross-site', 'foreign_origin'],
  ])('with Sec-Fetch-Site: %s is %s', (site, sign) => {
    expect(foreignSign({ host, 'sec-fetch-site': site }, '/_evroute/')).toBe(sign)
    expect(isForeignOrigin({ 'sec-fetch-site': site })).toBe(sign !== undefined)
  })

  test.each([
    ['/', undefined],
    ['/_evroute/', undefined],
    ['/_evroute/?match=type:track', undefined],
    ['/_evroute/sign-in?token=x', undefined],
    ['/healthz', undefined],
    ['/readyz', undefined],
    ['/_evroute/wait?match=type:track', 'foreign_origin'],
    ['/_evroute/v1/audit', 'foreign_origin'],
    ['/_evroute/sign-in/', 'foreign_origin'],
    ['/v1/ledger', 'foreign_origin'],
    [undefined, 'foreign_origin'],
  ])('from a link on another page to %s is %s', (url, sign) => {
    expect(foreignSign({ ...link, 'sec-fetch-site': 'cross-site' }, url)).toBe(sign)
    expect(foreignSign({ ...link, 'sec-fetch-site': 'same-site' }, url)).toBe(sign)
  })

  test('from a frame or a script is foreign, even to the page', () => {
    for (const headers of [
      { ...link, 'sec-fetch-dest': 'iframe' },
      { ...link, 'sec-fetch-mode': 'no-cors' },
    ]) {
      expect(foreignSign({ ...headers, 'sec-fetch-site': 'cross-site' }, '/_evroute/')).toBe(
        'foreign_origin',
      )
    }
  })
})
