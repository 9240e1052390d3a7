import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { overallStatus, Regulations } from '../../src/privacy/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { openStore } from '../../src/store/index.ts'
import { recordingRuntime } from '../support/recording-runtime.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { crm, nowMs } from '../intake/support.ts'

const userId = 'jane@example.com'
const handOver = [{ destinationId: 'crm', deliveriesMax: 1 }]

test('A regulation that a process left unfinished is finished by the next', async () => {
  const folder = await temporaryFolder()
  const archived = { events: 1, files: 1, problems: [] }
  const open = async () => {
    const store = await openStore(`sqlite:${join(folder, 'evroute.db')}`)
    const regulations = new Regulations({
      store: store.regulations,
      configuration: () => ({ sources: [{ id: 'website' }], destinations: [crm] }),
      eraseArchives: () => Promise.resolve(archived),
      wake: () => undefined,
      runtime: recordingRuntime(new ManualClock(nowMs)).runtime,
    })
    const close = async (): Promise<void> => {
      await regulations.close()
      await store.close()
    }
    onTestFinished(close)
    return { store, regulations, close }
  }

  const first = await open()
  const event = (messageId: string) => ({
    sourceId: 'website',
    messageId,
    type: 'track' as const,
    userId,
    deliveries: [{ destinationId: 'crm', body: JSON.stringify({ userId, messageId }) }],
  })
  const events = ['m_1', 'm_2'].map(event)
  await first.store.add({ nowMs, seenSinceMs: 0, events, handOver })
  const created = await first.regulations.create({
    type: 'DELETE_ONLY',
    userIds: [userId],
    sourceIds: null,
  })
  if (created.kind !== 'created') throw new Error(`It is refused: ${created.kind}`)
  const { id } = created.regulation
  await first.regulations.idle()
  // One of the two deliveries is in flight.
  expect(await first.regulations.find({ id })).toMatchObject({
    isStoreErased: false,
    erased: { pending: 1 },
    archive: archived,
  })
  await first.close()

  const { store, regulations, close } = await open()
  await regulations.start()
  await regulations.idle()
  const waiting = await regulations.find({ id })
  expect(waiting).toMatchObject({
    isStoreErased: true,
    erased: { pending: 2 },
    streams: [{ pending: 1 }],
  })
  expect(overallStatus(waiting!)).toBe('RUNNING')
  const share = { destinationId: 'crm', lane: 'first' as const, deliveriesMax: 10 }
  const leased = await store.claim({ nowMs, shares: [{ ...share, dueByMs: nowMs }] })
  expect(leased.map(({ messageId }) => messageId)).toEqual([`${id}/1`])
  const settlements = leased.map((delivery) => ({
    kind: 'delivered' as const,
    delivery,
    attempts: 1,
  }))
  await store.settle({ nowMs, settlements, requests: [] })
  await regulations.idle()
  const finished = await regulations.find({ id })
  expect(finished).toMatchObject({ finishedAtMs: nowMs, streams: [{ delivered: 1 }] })
  expect(overallStatus(finished!)).toBe('FINISHED')
  await close()
  // Only the regulation itself still names the user.
  const files = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), 'latin1')),
  )
  expect(files.join('').split(userId)).toHaveLength(2)
})
