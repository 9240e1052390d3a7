import { expect, test } from 'vitest'
import type { IntakeBatch, IntakeOutcome } from '../../src/intake/index.ts'
import { createRuntime, ManualClock, silentLog } from '../../src/runtime/index.ts'
import { Collector, type TrackingRequest } from '../../src/tracking-api/collector.ts'
import { countSurvivors } from '../support/collect-garbage.ts'
import { gate } from '../support/gate.ts'
import { recordingRuntime } from '../support/recording-runtime.ts'

const request: TrackingRequest = {
  expected: { kind: 'batch' },
  headers: { authorization: `Basic ${btoa('wk_example:')}` },
  query: new URLSearchParams(),
  client: { ip: '203.0.113.7', userAgent: 'Example/1.0', isBrowser: false },
  readDocument: () => {
    const call = { type: 'track', userId: 'user-1', event: 'Ping', properties: { total: 9.5 } }
    return Promise.resolve({ kind: 'document', value: { batch: [call] }, bytes: 100 })
  },
}

test('no object of a request is retained while its calls are being stored', async () => {
  const [begun, stored] = [gate(), gate()]
  const properties: WeakRef<object>[] = []
  const collector = new Collector({
    sourceOf: () => ({ id: 'website', enabled: true }),
    // Not async: an async frame would retain the batch.
    accept: ({ calls }: IntakeBatch): Promise<readonly IntakeOutcome[]> => {
      properties.push(
        ...(calls as { properties: object }[]).map((call) => new WeakRef(call.properties)),
      )
      begun.open()
      return stored.opened.then(() => [{ kind: 'accepted', index: 0, outcome: 'routed' }])
    },
    isFull: () => false,
    runtime: createRuntime({ clock: new ManualClock(0), log: silentLog }),
  })
  const answering = collector.collect(request)
  await begun.opened
  expect(properties).toHaveLength(1)
  expect(await countSurvivors(properties)).toBe(0)
  stored.open()
  expect((await answering)?.status).toBe(200)
})

test('the body is not read if the key in a header belongs to a source over its rate', async () => {
  let documents = 0
  const collector = new Collector({
    sourceOf: () => ({ id: 'website', enabled: true, eventsPerSecond: 1 }),
    accept: () => Promise.resolve([{ kind: 'accepted', index: 0, outcome: 'routed' }]),
    isFull: () => false,
    runtime: createRuntime({ clock: new ManualClock(0), log: silentLog }),
  })
  const readDocument: TrackingRequest['readDocument'] = () => {
    documents++
    return request.readDocument()
  }
  const statuses = []
  for (let round = 0; round < 3; round++) {
    statuses.push((await collector.collect({ ...request, readDocument }))?.status)
  }
  expect(statuses).toEqual([200, 429, 429])
  expect(documents).toBe(1)
})

test('the first unknown write key is logged', async () => {
  const { runtime, warnings } = recordingRuntime(new ManualClock(0))
  const collector = new Collector({
    sourceOf: () => undefined,
    accept: () => Promise.resolve([]),
    isFull: () => false,
    runtime,
  })
  expect(await collector.collect(request)).toMatchObject({ status: 401 })
  expect(await collector.collect({ ...request, headers: {} })).toMatchObject({ status: 401 })
  const message = 'a request without a valid write key was refused (logged once)'
  expect(warnings).toEqual([{ message, error: 'The write key is not known' }])
})

test('calls are refused if the store does not answer within 8 s', async () => {
  const clock = new ManualClock(0)
  const { runtime, warnings } = recordingRuntime(clock)
  const begun = gate()
  const collector = new Collector({
    sourceOf: () => ({ id: 'website', enabled: true }),
    // A disk that stalls.
    accept: () => {
      begun.open()
      return new Promise(() => undefined)
    },
    isFull: () => false,
    runtime,
  })
  const answering = collector.collect(request)
  await begun.opened
  await clock.advance(8_000)
  expect(await answering).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
  expect(warnings).toEqual([
    {
      message: 'events could not be stored',
      sourceId: 'website',
      error: 'The store did not answer within 8 s',
    },
  ])
})
