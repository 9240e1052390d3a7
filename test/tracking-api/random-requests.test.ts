import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/http/index.ts'
import { Intake } from '../../src/intake/index.ts'
import { limits, type Destination } from '../../src/model/index.ts'
import { createRuntime, lineLog, systemClock } from '../../src/runtime/index.ts'
import { SourceDirectory, trackingApp } from '../../src/tracking-api/index.ts'
import { collectGarbage } from '../support/collect-garbage.ts'
import { amplifyingBatches, anyRequest, spoiltBatches } from './random-requests.ts'
import { basic, crm, disabledWriteKey, send, writeKey, type Reply, type Sent } from './support.ts'

/** Concurrent requests. */
const together = 20

/** A tracking API in front of an intake that keeps nothing, so that any memory growth is its own. */
async function startForgetful(destinations: readonly Destination[] = []) {
  const failures: string[] = []
  const stored = { bytes: 0 }
  const log = lineLog((line) => {
    if (line.includes('could not')) failures.push(line)
  })
  const runtime = createRuntime({ clock: systemClock, log })
  const intake = new Intake({
    add: (events) => {
      const deliveries = events.flatMap((event) => event.deliveries)
      stored.bytes += deliveries.reduce((sum, { body }) => sum + body.length, 0)
      return Promise.resolve(events.map(() => 'routed' as const))
    },
    destinations,
    runtime,
  })
  const directory = new SourceDirectory([
    { id: 'website', enabled: true, writeKeys: [writeKey] },
    { id: 'old', enabled: false, writeKeys: [disabledWriteKey] },
  ])
  const app = trackingApp({
    sourceOf: (key) => directory.find(key),
    accept: (batch) => intake.accept(batch),
    isFull: () => false,
    runtime,
  })
  const listening = await listen(app, { host: '127.0.0.1', port: 0 })
  onTestFinished(() => listening.close(0))
  return { url: listening.url, failures, stored }
}

const codes: Readonly<Record<number, readonly string[]>> = {
  400: [
    'invalid_json',
    'invalid_batch',
    'nothing_valid',
    'event_too_large',
    'batch_too_large',
    'too_many_events',
    'invalid_gzip',
  ],
  401: ['unknown_write_key'],
  403: ['source_disabled'],
  404: ['not_found'],
  405: ['method_not_allowed'],
}

/** Fails unless an answer is in the table. */
function expectFromTable({ status, json, headers }: Reply): void {
  expect(headers['content-type']).toBe('application/json')
  const body = json as Readonly<Record<string, unknown>>
  if (status === 200) {
    expect(body['success']).toBe(true)
    const { accepted, rejected } = body
    if (accepted === undefined) expect(body).toEqual({ success: true })
    else expect([typeof accepted, Array.isArray(rejected)]).toEqual(['number', true])
    return
  }
  const { success, error, code, message, ...others } = body
  expect([success, others]).toEqual([false, {}])
  expect(codes[status] ?? [`no code for ${status}`]).toContain(code)
  expect([typeof error, typeof message]).toEqual(['string', 'string'])
}

async function sendTogether(url: string, requests: readonly Sent[]): Promise<void> {
  const replies = await Promise.all(requests.map((request) => send(url, request)))
  for (const reply of replies) expectFromTable(reply)
}

/** Memory in use after garbage collection; buffers need a second collection. */
async function memoryInUse(): Promise<NodeJS.MemoryUsage> {
  for (let round = 0; round < 4; round++) await collectGarbage()
  return process.memoryUsage()
}

// Thousands of requests take a while if other tests run at the same time.
describe('random requests', { timeout: 120_000 }, () => {
  test('each odd value at each position of a batch is answered as in the table', async () => {
    const { url, failures } = await startForgetful()
    for (let start = 0; start < spoiltBatches.length; start += together) {
      const requests = spoiltBatches
        .slice(start, start + together)
        .map((body, index) => ({ body, path: index % 5 === 0 ? '/v1/track' : '/v1/batch' }))
      await sendTogether(
        url,
        requests.map((request) => ({ ...request, headers: basic(writeKey) })),
      )
    }
    expect(spoiltBatches.length).toBeGreaterThan(1_000)
    expect(failures).toEqual([])
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })

  test('every request is answered as in the table, and memory does not grow', async () => {
    const { url, failures } = await startForgetful()
    const requests = fc.array(anyRequest, { minLength: together, maxLength: together })
    const run = (numRuns: number): Promise<void> =>
      fc.assert(
        fc.asyncProperty(requests, (some) => sendTogether(url, some)),
        { numRuns },
      )
    await run(40)
    const before = await memoryInUse()
    await run(100)
    const after = await memoryInUse()
    expect(after.heapUsed - before.heapUsed).toBeLessThan(8 * 1024 * 1024)
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(8 * 1024 * 1024)
    expect(failures).toEqual([])
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })

  test('a small body with large defaults for many calls is refused, and the defaults are not copied', async () => {
    const { url, stored } = await startForgetful([crm])
    for (const body of amplifyingBatches) {
      expect(body.length).toBeLessThan(200_000)
      const { status, json } = await send(url, { headers: basic(writeKey), body })
      expect([status, json]).toEqual([400, expect.objectContaining({ code: 'batch_too_large' })])
    }
    expect(stored.bytes).toBe(0)
  })

  test('the defaults merged into the calls of a batch are limited in bytes', async () => {
    const { url, stored } = await startForgetful([crm])
    for (const callCount of [1, 10, 2_500]) {
      const call = { type: 'track', userId: 'user-1', event: 'Ping', context: { direct: true } }
      const bytes = Math.min(300_000, limits.intakeBatchMergedBytesMax / callCount)
      const context = { x: 'x'.repeat(bytes - 100) }
      const body = JSON.stringify({ batch: Array(callCount).fill(call), context })
      expect((await send(url, { headers: basic(writeKey), body })).status).toBe(200)
      // Each call adds its own fields, and its client's address and user agent.
      const ownBytes = callCount * 400
      expect(stored.bytes).toBeLessThan(limits.intakeBatchMergedBytesMax + ownBytes)
      stored.bytes = 0
    }
  })

  test('a gzip bomb is inflated only up to the limit of a batch', async () => {
    const { url } = await startForgetful()
    const body = gzipSync(Buffer.alloc(100 * 1024 * 1024), { level: 1 })
    expect(body.length).toBeLessThan(512_000)
    const base = process.memoryUsage().arrayBuffers
    let peak = base
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().arrayBuffers)
    }, 1)
    const sent = { headers: basic(writeKey), body }
    const replies = await Promise.all(Array.from({ length: 10 }, () => send(url, sent)))
    clearInterval(watch)
    for (const { status, json } of replies) {
      expect([status, json]).toEqual([400, expect.objectContaining({ code: 'batch_too_large' })])
    }
    expect(peak - base).toBeLessThan(64 * 1024 * 1024)
  })
})
