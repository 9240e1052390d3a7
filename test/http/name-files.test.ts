import { expect, test } from 'vitest'
import { parseHosts } from '../../src/http/name-files.ts'

test('a hosts file can have several names for an address and several addresses for a name', () => {
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
