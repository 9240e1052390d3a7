import { expect, test } from 'vitest'
import { TestEndpoint } from '../../support/endpoint.ts'
import { placeFor } from './places.ts'

test('deliveries and audit find the store of a configuration', async () => {
  const endpoint = await TestEndpoint.start()
  const place = await placeFor(endpoint.url)
  expect(await place.run(['deliveries'])).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^There is no store yet. .*evroute\.db\n/) as string,
  })
  expect(await place.run(['deliveries', 'retry', '--all'])).toMatchObject({ code: 7 })
  await place.run(['audience', 'sync', '--key', 'vip', '--file', '-'], { stdin: 'id\nu_1\n' })
  const { records } = await place.run(['deliveries', '--json'])
  expect(records).toMatchObject([{ kind: 'delivery', state: 'delivered', userId: 'u_1' }])
  expect(await place.run(['deliveries', 'show', 'crm/1'])).toMatchObject({ code: 0 })
  expect(await place.run(['audit', '--json'])).toMatchObject({ code: 0 })
})
