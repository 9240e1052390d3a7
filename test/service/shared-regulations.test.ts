import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect, onTestFinished, test, vi } from 'vitest'
import { regulationRecord, watchEveryMs, type RegulationRequest } from '../../src/privacy/index.ts'
import { OfflineService, Service, type ServiceRole } from '../../src/service/index.ts'
import { openStore } from '../../src/store/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { PostgresDatabases } from '../support/postgres.ts'
import { recordingRuntime } from '../support/recording-runtime.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import {
  sendRequest,
  configurationOf,
  documentFor,
  manualClock,
  token,
  writeKey,
} from './running-service.ts'

const databases = new PostgresDatabases()

/** Services on one database, each with its own archive folder. */
async function installation() {
  const endpoint = await TestEndpoint.start(200)
  const store = await databases.newUrl()
  const document = documentFor(endpoint, { store, source: { archive: { directory: './archive' } } })
  const start = async (role: ServiceRole, folder?: string) => {
    const home = folder ?? (await temporaryFolder())
    const clock = manualClock()
    const recorded = recordingRuntime(clock)
    const runtime = { ...recorded.runtime, newId: () => randomUUID() }
    const configuration = await configurationOf(document, home)
    const service = await Service.start({ configuration, runtime, role })
    onTestFinished(() => service.close())
    const { url, admin } = service.address
    return {
      ...{ service, clock, folder: home, settled: recorded.settled },
      track: (messageId: string) =>
        sendRequest(`${url}/v1/track`, {
          headers: { 'x-write-key': writeKey },
          body: { userId: 'u_1', event: 'Order Completed', messageId },
        }),
      admin: async (path: string, body?: object) => {
        const headers = { authorization: `Bearer ${token}` }
        return (await sendRequest(`${admin ?? ''}${path}`, { headers, ...(body && { body }) }))
          .body as Record<string, unknown>
      },
    }
  }
  return { start, store, document }
}

const deletion = { regulationType: 'DELETE_INTERNAL', subjectIds: ['u_1'] }

/** The user's events in the archive of a folder. */
async function archived(folder: string, userId = 'u_1'): Promise<number> {
  const entries = await readdir(join(folder, 'archive'), { recursive: true, withFileTypes: true })
  const files = entries.filter(({ name }) => name.endsWith('.gz'))
  const texts = await Promise.all(
    files.map(async ({ parentPath, name }) =>
      gunzipSync(await readFile(join(parentPath, name))).toString(),
    ),
  )
  return texts.join('').split(`"${userId}"`).length - 1
}

test('a deletion waits for the archive of a stopped process, and lists that archive', async () => {
  const { start } = await installation()
  const one = await start('ingest')
  const other = await start('deliver')
  expect(await one.track('m_1')).toMatchObject({ status: 200 })
  await one.service.close()
  const { id } = await other.admin('/v1/regulations', deletion)
  const path = `/v1/regulations/${String(id)}`
  const look = async () => {
    await other.clock.advance(watchEveryMs)
    return other.admin(path)
  }
  const name = expect.stringContaining(join(one.folder, 'archive')) as string
  await vi.waitUntil(async () => (await look())['archivesLeft']?.toString().includes(one.folder))
  await vi.waitFor(async () =>
    expect(await look()).toMatchObject({
      ...{ overallStatus: 'RUNNING', finishedAt: null, archivesLeft: [name] },
    }),
  )
  expect(await archived(one.folder)).toBe(1)

  await start('ingest', one.folder)
  await vi.waitUntil(async () => (await look())['finishedAt'] !== null, { timeout: 20_000 })
  expect(await look()).toMatchObject({
    ...{ overallStatus: 'FINISHED', archivesLeft: [] },
    archive: { events: 1, files: 1, problems: [] },
  })
  expect(await archived(one.folder)).toBe(0)
})

test('a deletion stored by a process that stopped is finished by another', async () => {
  const { start, store } = await installation()
  const service = await start('all')
  await service.track('m_1')
  const died = await openStore(store)
  const subjects = { userIds: ['u_1'], sourceIds: null }
  await died.regulations.create({
    regulation: { id: 'reg_left', type: 'DELETE_INTERNAL', ...subjects },
    notifications: [],
    nowMs: service.clock.nowMs(),
  })
  await died.close()
  await vi.waitUntil(
    async () => {
      await service.clock.advance(watchEveryMs)
      return (await service.admin('/v1/regulations/reg_left'))['finishedAt'] !== null
    },
    { timeout: 20_000 },
  )
  expect(await archived(service.folder)).toBe(0)
})

test('one process of two in the same folder erases its archive, so that no events are lost', async () => {
  const { start } = await installation()
  const ingest = await start('ingest')
  const day = join(ingest.folder, 'archive', 'website', '2026-01-01')
  await mkdir(day, { recursive: true })
  const files = 200
  const rows = ['u_1', 'u_2'].map((userId) => ({
    ...{ type: 'track', userId },
    archived: { sourceId: 'website', receivedAt: '2026-01-01T12:00:00.000Z' },
  }))
  const text = gzipSync(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const paths = Array.from({ length: files }, (_, index) => join(day, `${index}.ndjson.gz`))
  await Promise.all(paths.map((path) => writeFile(path, text)))
  const deliver = await start('deliver', ingest.folder)
  const { id } = await deliver.admin('/v1/regulations', deletion)
  const look = async () => {
    await Promise.all([ingest, deliver].map(({ clock }) => clock.advance(watchEveryMs)))
    return ingest.admin(`/v1/regulations/${String(id)}`)
  }
  await vi.waitUntil(async () => (await look())['finishedAt'] !== null, { timeout: 20_000 })
  expect(await look()).toMatchObject({
    ...{ overallStatus: 'FINISHED', archivesLeft: [] },
    archive: { events: files, files, problems: [] },
  })
  expect(await archived(ingest.folder)).toBe(0)
  expect(await archived(ingest.folder, 'u_2')).toBe(files)
})

test('a process that only delivers replays no archive before its writer has erased it', async () => {
  const { start } = await installation()
  const ingest = await start('ingest')
  await ingest.track('m_1')
  const deliver = await start('deliver', ingest.folder)
  await ingest.service.close()
  const { id } = await deliver.admin('/v1/regulations', deletion)
  const look = async () => {
    await deliver.clock.advance(watchEveryMs)
    return deliver.admin(`/v1/regulations/${String(id)}`)
  }
  await vi.waitUntil(async () => (await look())['archive'] !== null)
  const replay = () => deliver.admin('/v1/replay', { all: true })
  expect(await replay()).toMatchObject({ error: { code: 'deletion_running' } })
  expect(await archived(ingest.folder)).toBe(1)

  await start('ingest', ingest.folder)
  await vi.waitUntil(async () => (await look())['finishedAt'] !== null, { timeout: 20_000 })
  expect(await replay()).toMatchObject({ kind: 'replay', events: 0 })
})

test('an offline command leaves the archive to the service that writes to it', async () => {
  const { start, document, store } = await installation()
  const service = await start('all')
  await service.track('m_1')
  // The clock of the command stands still, so it would wait for the leases of the service.
  await vi.waitUntil(() => service.settled.length === 1)
  const configuration = await configurationOf(document, service.folder)
  const { runtime } = recordingRuntime(manualClock())
  const command = await OfflineService.open({ configuration, runtime, storeUrl: store })
  const request: RegulationRequest = { type: 'DELETE_INTERNAL', userIds: ['u_1'], sourceIds: null }
  const outcome = await command.regulations.create(request)
  await command.idle()
  await command.close()
  if (outcome.kind !== 'created') throw new Error(`It is refused: ${outcome.kind}`)
  expect(regulationRecord(outcome.regulation)['archivesLeft']).toHaveLength(1)
  await vi.waitUntil(
    async () => {
      await service.clock.advance(watchEveryMs)
      const regulation = await service.admin(`/v1/regulations/${outcome.regulation.id}`)
      return regulation['finishedAt'] !== null
    },
    { timeout: 20_000 },
  )
  expect(await archived(service.folder)).toBe(0)
})
