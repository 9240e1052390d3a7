import { expect, onTestFinished, test, vi } from 'vitest'
import { Service, type ServiceRole } from '../../src/service/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { PostgresDatabases } from '../support/postgres.ts'
import { recordingRuntime } from '../support/recording-runtime.ts'
import { systemClock } from '../../src/runtime/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { sendRequest, configurationOf, documentFor, writeKey } from './running-service.ts'

const databases = new PostgresDatabases()

/** A service in this role; closes when the test ends. */
async function start(role: ServiceRole, document: object) {
  const recording = recordingRuntime(systemClock)
  const service = await Service.start({
    configuration: await configurationOf(document, await temporaryFolder()),
    runtime: recording.runtime,
    role,
  })
  onTestFinished(() => service.close())
  const { url } = service.address
  return {
    ...recording,
    service,
    url,
    track: (messageId: string) =>
      sendRequest(`${url}/v1/track`, {
        headers: { 'x-write-key': writeKey },
        body: { userId: 'u_1', event: 'Order Completed', messageId },
      }),
  }
}

function messageIds({ bodies }: TestEndpoint): readonly string[] {
  return bodies.map((body) => (body as { messageId: string }).messageId).sort()
}

test("one process accepts calls and another delivers them, and neither does the other's part", async () => {
  const endpoint = await TestEndpoint.start()
  const document = documentFor(endpoint, { store: await databases.newUrl() })
  const ingest = await start('ingest', document)
  const ids = Array.from({ length: 10 }, (_, index) => `m_${index}`)
  for (const id of ids.slice(0, 5)) expect(await ingest.track(id)).toMatchObject({ status: 200 })
  expect(ingest.service.work.requests).toBe(0)

  const deliver = await start('deliver', document)
  await endpoint.received(5)
  // The deliverer is notified of later calls, or finds them by polling.
  for (const id of ids.slice(5)) expect(await ingest.track(id)).toMatchObject({ status: 200 })
  await endpoint.received(ids.length)
  await vi.waitUntil(() => deliver.settled.length === ids.length, { timeout: 30_000 })
  expect(messageIds(endpoint)).toEqual(ids)
  expect(deliver.requests).toHaveLength(ids.length)
  expect(ingest.requests).toEqual([])

  const refused = { success: false, code: 'store_unavailable' }
  expect(await deliver.track('m_refused')).toMatchObject({ status: 503, body: refused })
  for (const { url } of [ingest, deliver]) {
    expect(await sendRequest(`${url}/healthz`)).toMatchObject({ status: 200 })
    expect(await sendRequest(`${url}/readyz`)).toMatchObject({ status: 200 })
  }
  expect(endpoint.requests).toHaveLength(ids.length)
})
