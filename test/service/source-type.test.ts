import { expect, test } from 'vitest'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import {
  sendRequest,
  configurationOf,
  documentFor,
  startService,
  writeKey,
} from './running-service.ts'

test("an app source shows the client's address in the webhook as soon as it has that type", async () => {
  const endpoint = await TestEndpoint.start()
  const { service, reconfigure } = await startService(documentFor(endpoint))
  const post = (messageId: string) =>
    sendRequest(`${service.address.url}/v1/b`, {
      body: { writeKey, batch: [{ type: 'track', userId: 'u_1', event: 'Opened', messageId }] },
    })
  await post('m_1')
  await endpoint.received(1)
  const changed = documentFor(endpoint, { source: { type: 'mobile' } })
  const changes = await reconfigure(changed)
  expect(changes).toMatchObject([{ setting: 'sources.website.type', effect: 'at_once' }])
  await post('m_2')
  await endpoint.received(2)
  const contexts = endpoint.bodies.map((body) => (body as { context: object }).context)
  expect(contexts).toEqual([{}, { ip: '127.0.0.1' }])
})

test('an unknown type is refused with a list of the types', async () => {
  const endpoint = await TestEndpoint.start()
  const document = documentFor(endpoint, { source: { type: 'web' } })
  await expect(configurationOf(document, await temporaryFolder())).rejects.toThrow(
    /\\"browser\\", \\"mobile\\", \\"server\\" or null/,
  )
})
