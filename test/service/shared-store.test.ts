import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createRuntime, silentLog } from '../../src/runtime/index.ts'
import { Service, type ServiceRole } from '../../src/service/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { PostgresServer } from '../support/postgres.ts'
import { PostgresLine } from '../support/postgres-line.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { sendRequest, configurationOf, documentFor, token, writeKey } from './running-service.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let server: PostgresServer

beforeAll(async () => {
  server = await PostgresServer.start()
})

afterAll(() => server.end())

/** A service in this role; closes when the test ends. */
async function start(document: object, role: ServiceRole = 'all') {
  const service = await Service.start({
    configuration: await configurationOf(document, await temporaryFolder()),
    runtime: createRuntime({ log: silentLog }),
    role,
  })
  onTestFinished(() => service.close())
  const { url, admin } = service.address
  const metrics = async (): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` }
    return String((await sendRequest(`${admin ?? ''}/metrics`, { headers })).body)
  }
  return {
    service,
    url,
    ready: () => sendRequest(`${url}/readyz`),
    metrics,
    tellsOfQueues: async () => (await metrics()).includes('\nevroute_queue_deliveries{'),
  }
}

const patient = { timeout: 60_000, interval: 200 }
const joining = 'The process has just joined others that share the store, and may not send yet'

test('while the database hangs, a service is not ready and reports its last figures', async () => {
  const line = await PostgresLine.to(server)
  const store = line.through(await server.newUrl('hanging'))
  const endpoint = await TestEndpoint.start()
  const { ready, metrics, tellsOfQueues } = await start(documentFor(endpoint, { store }))
  await expect.poll(ready, patient).toMatchObject({ status: 200 })
  await expect.poll(tellsOfQueues, patient).toBe(true)
  line.isMute = true
  line.fallSilent()
  const silent = { status: 'not_ready', reasons: ['The store does not answer'] }
  await expect.poll(ready, patient).toEqual({ status: 503, body: silent })
  const text = await metrics()
  expect(text).toContain('\nevroute_queue_deliveries{destination="crm"} 0\n')
  expect(text).toMatch(/\nevroute_store_figures_age_seconds [\d.]+\n/)
  line.isMute = false
  line.hangUp()
  await expect.poll(ready, patient).toMatchObject({ status: 200 })
})

test('a joining process is ready once it may send; one process reports the queues, and another takes over', async () => {
  const endpoint = await TestEndpoint.start()
  const document = documentFor(endpoint, { store: await server.newUrl('joining') })
  const first = await start(document, 'ingest')
  await expect.poll(first.tellsOfQueues, patient).toBe(true)
  const second = await start(document)
  await expect.poll(second.ready, patient).toMatchObject({ status: 200 })
  const third = await start(document, 'deliver')
  const refused = { status: 'not_ready', reasons: [joining] }
  expect(await third.ready()).toEqual({ status: 503, body: refused })
  expect(await first.ready()).toMatchObject({ status: 200 })
  await expect.poll(third.ready, patient).toMatchObject({ status: 200 })
  expect(await first.tellsOfQueues()).toBe(true)
  expect(await second.tellsOfQueues()).toBe(false)
  expect(await third.tellsOfQueues()).toBe(false)
  // The third process is ready, so it sends in place of the closed one.
  await second.service.close()
  const headers = { 'x-write-key': writeKey }
  await sendRequest(`${first.url}/v1/track`, { headers, body: { userId: 'u_1', event: 'Ping' } })
  await endpoint.received(1)
  await first.service.close()
  await expect.poll(third.tellsOfQueues, patient).toBe(true)
})
