import { describe, expect, test } from 'vitest'
import { foreignSign } from '../../src/http/index.ts'

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
  ])('at %s, %s is its own', (host, origin) => {
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
