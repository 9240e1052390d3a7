import { expect, test } from 'vitest'
import type { JsonValue } from '../../src/model/index.ts'
import { EventLog } from '../../src/receiver/event-log.ts'
import type { UnnumberedEvent } from '../../src/receiver/received-event.ts'
import { Waits } from '../../src/receiver/waits.ts'
import { ManualClock, silentLog, type Log } from '../../src/runtime/index.ts'
import { gate } from '../support/gate.ts'

const request: UnnumberedEvent = {
  atMs: 0,
  method: 'POST',
  path: '/',
  headers: {},
  rawBody: Buffer.alloc(0),
  bytes: 0,
  kind: 'webhook',
  type: 'page',
  userId: null,
  body: { type: 'page' },
  code: null,
  signature: 'valid',
  reason: null,
  diagnosis: null,
  endpoint: null,
  status: 200,
  injected: null,
  withheld: null,
  forward: null,
  durationMs: 1,
}

const malformed: UnnumberedEvent = {
  ...request,
  kind: 'malformed',
  type: null,
  body: null,
  userId: null,
  code: 'no_type',
  signature: 'unchecked',
}

function logOf(eventsMax: number, log: Log = silentLog, waits = new Waits(new ManualClock(0))) {
  return new EventLog(eventsMax, log, waits)
}

test('events are numbered from 1, frozen and kept', async () => {
  const log = logOf(10)
  await log.add(() => request)
  const before = log.events
  await log.add(() => request)
  expect(before).toHaveLength(1)
  expect(log.events.map(({ seq }) => seq)).toEqual([1, 2])
  expect(log.events[0]).toBe(before[0])
  expect(Object.isFrozen(before[0])).toBe(true)
})

test('the oldest event is dropped when there are too many', async () => {
  const log = logOf(2)
  for (let count = 0; count < 5; count++) await log.add(() => request)
  expect(log.events.map(({ seq }) => seq)).toEqual([4, 5])
  expect(log.counts.received).toBe(5)
})

test('the oldest event is dropped when bodies exceed 64 MB', async () => {
  const log = logOf(100)
  const large = { ...request, bytes: 30 * 1024 * 1024 }
  for (let count = 0; count < 5; count++) await log.add(() => large)
  expect(log.events.map(({ seq }) => seq)).toEqual([4, 5])
})

test('the oldest event is dropped when the bodies contain so many values that they need too much memory', async () => {
  const log = logOf(100)
  const items = JSON.parse(`[${'{},'.repeat(1_000_000)}{}]`) as JsonValue
  const large = { ...request, bytes: 3_000_000, body: { type: 'page', items } }
  for (let count = 0; count < 5; count++) await log.add(() => large)
  expect(log.events.map(({ seq }) => seq)).toEqual([2, 3, 4, 5])
  for (let count = 0; count < 99; count++) await log.add(() => request)
  for (let count = 0; count < 3; count++) await log.add(() => large)
  expect(log.events).toHaveLength(100)
})

test('events are counted by content and by signature', async () => {
  const log = logOf(0)
  const before = log.counts
  await log.add(() => request)
  await log.add(() => ({ ...request, signature: 'invalid' }))
  await log.add(() => ({ ...request, signature: 'missing' }))
  await log.add(() => malformed)
  expect(log.counts).toEqual({
    received: 4,
    wellFormed: 3,
    malformed: 1,
    valid: 1,
    invalid: 1,
    missing: 1,
  })
  expect(log.events).toEqual([])
  expect(before.received).toBe(0)
})

test('a failing listener is logged and does not stop the other listeners', async () => {
  const warnings: unknown[] = []
  const warn: Log['warn'] = (_message, fields) => void warnings.push(fields?.['error'])
  const log = logOf(10, { ...silentLog, warn })
  const notified: number[] = []
  log.listen(() => {
    throw new Error('thrown')
  })
  log.listen(() => Promise.reject(new Error('rejected')))
  log.listen(({ seq }) => notified.push(seq))
  await log.add(() => request)
  expect(notified).toEqual([1])
  expect(warnings.toSorted()).toEqual(['rejected', 'thrown'])
})

test('a listener added twice is called twice, and removed once per call', async () => {
  const log = logOf(10)
  const notified: number[] = []
  const listener = ({ seq }: { seq: number }): unknown => notified.push(seq)
  const endFirst = log.listen(listener)
  log.listen(listener)
  await log.add(() => request)
  endFirst()
  await log.add(() => request)
  expect(notified).toEqual([1, 1, 2])
})

test('an event is announced only after all listeners have finished with the previous one', async () => {
  const log = logOf(10)
  const [slow, notified] = [gate(), gate()]
  const steps: string[] = []
  log.listen(async ({ seq }) => {
    steps.push(`begin ${seq}`)
    notified.open()
    await slow.opened
    steps.push(`end ${seq}`)
  })
  const adding = [1, 2].map((seq) => log.add(() => request).then(() => steps.push(`added ${seq}`)))
  await notified.opened
  expect(log.counts.received).toBe(1)
  slow.open()
  await Promise.all(adding)
  expect(steps).toEqual(['begin 1', 'end 1', 'added 1', 'begin 2', 'end 2', 'added 2'])
})

test('once all waits are ended, adding an event no longer waits for listeners', async () => {
  const waits = new Waits(new ManualClock(0))
  const log = logOf(10, silentLog, waits)
  const notified: number[] = []
  log.listen(({ seq }) => {
    notified.push(seq)
    return new Promise(() => undefined)
  })
  const adding = [log.add(() => request), log.add(() => request)]
  waits.endAll()
  await Promise.all(adding)
  await log.add(() => request)
  expect(notified).toEqual([1, 2, 3])
})

test('an event that fails to be created does not block the next one', async () => {
  const log = logOf(10)
  const broken = log.add(() => {
    throw new Error('out of time')
  })
  const next = log.add(() => request)
  await expect(broken).rejects.toThrow('out of time')
  await next
  expect(log.events).toMatchObject([{ seq: 1 }])
})
