import { expect, test } from 'vitest'
import { starterConfiguration } from '../../../src/cli/configuration/init.ts'
import { AddressGuard } from '../../../src/http/index.ts'

test('the starter may send to localhost, whichever of its addresses comes first', async () => {
  const { allow } = starterConfiguration['network'] as { readonly allow: readonly string[] }
  const addresses = [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ]
  const guard = new AddressGuard({ allow, resolveName: () => Promise.resolve(addresses) })
  expect(await guard.resolve('localhost')).toEqual(addresses)
})
