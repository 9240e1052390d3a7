import { describe, expect, test } from 'vitest'
import { fullNames, parseHosts, parseSearchList } from '../../src/http/name-files.ts'

describe('a hosts file', () => {
  test('can have several names for an address and several addresses for a name', () => {
    const hosts = parseHosts(
      [
        '127.0.0.1 localhost',
        '::1\tlocalhost ip6-localhost # the same',
        '  10.0.0.5   Hooks.Internal hooks\r',
        '# 10.0.0.6 commented.out',
        'fe80::1%lo0 localhost',
        'not-an-address name',
        '10.0.0.7',
      ].join('\n'),
    )
    expect(Object.fromEntries(hosts)).toEqual({
      localhost: [
        { address: '127.0.0.1', family: 4 },
        { address: '::1', family: 6 },
      ],
      'ip6-localhost': [{ address: '::1', family: 6 }],
      'hooks.internal': [{ address: '10.0.0.5', family: 4 }],
      hooks: [{ address: '10.0.0.5', family: 4 }],
    })
  })
})

describe('a search list', () => {
  test('is empty by default', () => {
    expect(parseSearchList('nameserver 10.0.0.1\n')).toEqual({ domains: [], dotsMin: 1 })
  })

  test('is the last one in the file, with the ndots option', () => {
    const text =
      'domain old.example\nsearch a.example. b.example\noptions timeout:1 ndots:5 rotate\n; search c\n'
    expect(parseSearchList(text)).toEqual({ domains: ['a.example', 'b.example'], dotsMin: 5 })
  })

  test.each([
    ['hooks', 1, ['hooks.a.example', 'hooks.b.example', 'hooks']],
    ['hooks.crm', 1, ['hooks.crm', 'hooks.crm.a.example', 'hooks.crm.b.example']],
    ['hooks.crm', 2, ['hooks.crm.a.example', 'hooks.crm.b.example', 'hooks.crm']],
    ['hooks.', 5, ['hooks.']],
  ])('completes %s if full names need at least %i dots', (name, dotsMin, expected) => {
    expect(fullNames(name, { domains: ['a.example', 'b.example'], dotsMin })).toEqual(expected)
  })
})
