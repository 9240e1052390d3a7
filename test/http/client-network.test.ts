import { expect, test } from 'vitest'
import { clientNetwork } from '../../src/http/index.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['1::2:3:4:5:6:7', '1:0:2:3'],
  [undefined, ''],
])('%s counts as %s', (address, network) => {
  expect(clientNetwork(address)).toBe(network)
})
