import fc from 'fast-check'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Client, createInProcessTransport, type TransportOutcome } from '../../src/client/index.ts'
import { silentLog, VirtualClock } from '../../src/runtime/index.ts'
import { unreachableUrl } from '../support/free-port.ts'
import {
  accepted,
  ids,
  idsOf,
  manualRuntime,
  record,
  ScriptedTransport,
  startEndpoint,
  startMs,
  unavailable,
} from './support.ts'

function virtualRuntime() {
  return { clock: new VirtualClock(startMs), log: silentLog }
}

describe('Client over HTTP', () => {
  test('loses nothing if the endpoint fails at first and the client closes immediately', async () => {
    let count = 0
    const { url, requests } = await startEndpoint((_, response) => {
      response.statusCode = ++count <= 5 ? 503 : 200
      response.end('{"success":true}')
    })
    const client = new Client('wk_example', { endpoint: url, runtime: virtualRuntime() })
    record(client, 100)
    expect(await client.close()).toMatchObject({ queued: 100, delivered: 100, undelivered: [] })
    const taken = requests.slice(5).flatMap(({ body }) => idsOf({ body: body.toString('utf8') }))
    expect(taken.toSorted()).toEqual(ids(100).toSorted())
  })

  test('reports every call and the reason if there are no listeners', async () => {
    const endpoint = await unreachableUrl()
    const client = new Client('wk_example', { endpoint, runtime: virtualRuntime() })
    record(client, 50)
    const report = await client.close({ timeoutMs: 3_000 })
    expect(report).toMatchObject({ queued: 50, delivered: 0, failed: 50 })
    expect(report.undelivered.map((call) => call.messageId).toSorted()).toEqual(ids(50).toSorted())
    for (const call of report.undelivered) {
      expect(call.code).toBe('close_timeout')
      expect(call.message).toContain('ECONNREFUSED')
    }
  })

  test('closes in time although the endpoint never answers', async () => {
    const runtime = manualRuntime()
    const { url } = await startEndpoint(() => void runtime.clock.advance(30_000))
    const client = new Client('wk_example', { endpoint: url, runtime })
    record(client, 1)
    expect(await client.close()).toMatchObject({ queued: 1, delivered: 0, failed: 1 })
  })

  test('halves a batch that is too large for the endpoint', async () => {
    const { url, requests } = await startEndpoint(({ body }, response) => {
      const tooLarge = body.length > 2_000
      response.statusCode = tooLarge ? 400 : 200
      response.end(JSON.stringify(tooLarge ? { code: 'batch_too_large', message: 'No' } : {}))
    })
    const client = new Client('wk_example', { endpoint: url, runtime: virtualRuntime() })
    record(client, 20)
    expect(await client.close()).toMatchObject({ queued: 20, delivered: 20 })
    expect(requests.length).toBeGreaterThan(1)
  })
})

describe('Client in process', () => {
  test('accepts a burst of 20,000 calls and loses none', async () => {
    const arrived = new Set<unknown>()
    const transport = createInProcessTransport(async ({ calls }) => {
      await nextTurn()
      for (const call of calls) arrived.add((call as { messageId: string }).messageId)
      return { rejected: [] }
    })
    const client = new Client('wk_example', { transport, queueMax: 20_000 })
    record(client, 20_000)
    await client.flush()
    expect(arrived.size).toBe(20_000)
    expect(await client.close()).toMatchObject({ queued: 20_000, delivered: 20_000, refused: 0 })
  })
})

describe('Every queued call', () => {
  const rejected = [{ index: 0, code: 'no_event', message: 'track needs an event' }]
  const outcomes: readonly TransportOutcome[] = [
    accepted,
    { kind: 'accepted', rejected },
    unavailable,
    { kind: 'too_large', reason: 'too large' },
    { kind: 'refused', code: 'http_404', message: 'not found' },
  ]

  test('ends in exactly one event, and in the report if it was not delivered', async () => {
    const input = fc.record({
      count: fc.integer({ min: 0, max: 120 }),
      flushAt: fc.integer({ min: 1, max: 25 }),
      timeoutMs: fc.constantFrom(0, 100, 1_000, 30_000),
      script: fc.array(fc.constantFrom(...outcomes), { maxLength: 40 }),
    })
    await fc.assert(
      fc.asyncProperty(input, async ({ count, flushAt, timeoutMs, script }) => {
        const transport = new ScriptedTransport((_, sent) => script[sent - 1] ?? accepted)
        const client = new Client('wk_example', { transport, flushAt, runtime: virtualRuntime() })
        const delivered: string[] = []
        const failed: string[] = []
        client.on('delivered', ({ messageId }) => delivered.push(messageId))
        client.on('failed', ({ messageId }) => failed.push(messageId))
        record(client, count)
        const report = await client.close({ timeoutMs })
        expect([...delivered, ...failed].toSorted()).toEqual(ids(count).toSorted())
        expect(report.undelivered.map((call) => call.messageId)).toEqual(failed)
        expect(report).toMatchObject({ queued: count, delivered: delivered.length })
        expect(report.failed).toBe(failed.length)
      }),
    )
  })
})
