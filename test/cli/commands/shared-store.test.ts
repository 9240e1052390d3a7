import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../../src/store/index.ts'
import { OfflineService } from '../../../src/service/index.ts'
import { systemClock } from '../../../src/runtime/index.ts'
import { addAndLease, delivered, event } from '../../conformance/store-under-test.ts'
import { configurationOf, documentFor } from '../../service/running-service.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { recordingRuntime } from '../../support/recording-runtime.ts'
import { run } from '../../support/io.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const databases = new PostgresDatabases()

const release = (name: string, url: string) => run(['regulations', 'release', name, '--store', url])

test('an archive whose service is gone is shown by name, and can be released', async () => {
  const url = await databases.newUrl()
  const store = await openStore(url)
  const name = '/srv/archive on web-1'
  await store.sharedRegulations!.register({ archives: [{ id: 'a', name }] })
  const regulation = { id: 'reg_1', userIds: ['u_1'], sourceIds: null }
  await store.regulations.create({
    regulation: { ...regulation, type: 'DELETE_ARCHIVE_ONLY' },
    notifications: [],
    nowMs: 1,
  })
  await store.close()
  const show = () => run(['regulations', 'show', 'reg_1', '--store', url])
  expect((await show()).stdout).toContain('Waits for    the archive /srv/archive on web-1\n')
  expect(await release(name, url)).toMatchObject({
    ...{ code: 0, stdout: '' },
    stderr: `No regulation waits for the archive ${name} any longer\n`,
  })
  const { stdout } = await show()
  expect(stdout).not.toContain('Waits for')
  expect(stdout).toContain(`${name}: the archive was released before its contents were erased\n`)
  const again = await release(name, url)
  expect(again.code).toBe(2)
  expect(again.stderr).toContain(`No regulation is waiting for an archive "${name}"`)
})

test('a store in a file has no archives of other services', async () => {
  const url = `sqlite:${join(await temporaryFolder(), 'store.db')}`
  await (await openStore(url)).close()
  expect((await release('/srv/archive', url)).code).toBe(2)
})

test('commands do not shorten how long a service that shares the store remembers messageIds', async () => {
  const url = await databases.newUrl()
  const endpoint = await TestEndpoint.start()
  const store = await openStore(url)
  const agoMs = systemClock.nowMs() - 3 * 24 * 60 * 60 * 1_000
  const room = [{ destinationId: 'crm', deliveriesMax: 1 }]
  const events = [event('m_1', 'crm')]
  const { leased } = await addAndLease(store, {
    nowMs: agoMs,
    seenSinceMs: 0,
    events,
    handOver: room,
  })
  await store.settle({ nowMs: agoMs, settlements: leased.map(delivered), requests: [] })
  const send = ['send', 'track', 'userId=u_1', 'event=Ping', '--to', endpoint.url]
  expect((await run([...send, '--store', url])).code).toBe(0)
  const configuration = await configurationOf(documentFor(endpoint), await temporaryFolder())
  const { runtime } = recordingRuntime(systemClock)
  const command = await OfflineService.open({ configuration, runtime, storeUrl: url })
  await command.idle()
  await command.close()
  const kept = await store.list({ filter: {}, limit: 10 })
  expect(kept.map(({ messageId }) => messageId)).toContain('m_1')
  await store.close()
})
