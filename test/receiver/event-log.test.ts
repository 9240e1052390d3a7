import { expect, test } from 'vitest'
import { EventLog } from '../../src/receiver/event-log.ts'
import type { UnnumberedEvent } from '../../src/receiver/received-event.ts'
import { silentLog, type Log } from '../../src/runtime/index.ts'

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
  status: 200,
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

test('numbers from 1, freezes and keeps', () => {
  const log = new EventLog(10, silentLog)
  const first = log.add(request)
  const before = log.events
  log.add(request)
  expect(before).toHaveLength(1)
  expect(log.events.map(({ seq }) => seq)).toEqual([1, 2])
  expect(log.events[0]).toBe(first)
  expect(Object.isFrozen(first)).toBe(true)
})

test('the oldest goes when there are too many', () => {
  const log = new EventLog(2, silentLog)
  for (let count = 0; count < 5; count++) log.add(request)
  expect(log.events.map(({ seq }) => seq)).toEqual([4, 5])
  expect(log.counts.received).toBe(5)
})

test('the oldest goes when their bodies are more than 64 MB', () => {
  const log = new EventLog(100, silentLog)
  for (let count = 0; count < 5; count++) log.add({ ...request, bytes: 30 * 1024 * 1024 })
  expect(log.events.map(({ seq }) => seq)).toEqual([4, 5])
})

test('counts by content and by signature', () => {
  const log = new EventLog(0, silentLog)
  const before = log.counts
  log.add(request)
  log.add({ ...request, signature: 'invalid' })
  log.add({ ...request, signature: 'missing' })
  log.add(malformed)
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

test('a listener that fails is logged and stops nobody', async () => {
  const warnings: unknown[] = []
  const warned = new Promise<void>((resolve) => {
    const recording: Log = {
      debug: () => undefined,
      warn: (_message, fields) => {
        warnings.push(fields?.['error'])
        if (warnings.length === 2) resolve()
      },
    }
    const log = new EventLog(10, recording)
    const told: number[] = []
    log.listen(() => {
      throw new Error('thrown')
    })
    log.listen(() => Promise.reject(new Error('rejected')))
    log.listen(({ seq }) => told.push(seq))
    log.add(request)
    expect(told).toEqual([1])
  })
  await warned
  expect(warnings.toSorted()).toEqual(['rejected', 'thrown'])
})

test('a listener given twice is told twice, and ends once at a time', () => {
  const log = new EventLog(10, silentLog)
  const told: number[] = []
  const listener = ({ seq }: { seq: number }): unknown => told.push(seq)
  const endFirst = log.listen(listener)
  log.listen(listener)
  log.add(request)
  endFirst()
  log.add(request)
  expect(told).toEqual([1, 1, 2])
})
