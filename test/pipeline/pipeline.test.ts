import { describe, expect, onTestFinished, test } from 'vitest'
import {
  hiddenEndpoint,
  imbalances,
  type DeliveryLedger,
  type Destination,
} from '../../src/model/index.ts'
import { VirtualClock } from '../../src/runtime/index.ts'
import { Pipeline, type PipelineOptions } from '../../src/pipeline/index.ts'
import { checkDestination, signBody, type DestinationSettings } from '../../src/webhook/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { gate } from '../support/gate.ts'
import { MemoryStore } from '../support/memory-store.ts'
import { runSource } from '../support/run-source.ts'
import { recordingRuntime, startMs, type RecordingRuntime } from '../support/recording-runtime.ts'

const shortDeadlineMs = 150

function destinationOf(
  endpoints: readonly { readonly url: string }[],
  settings: Partial<DestinationSettings> = {},
): Destination {
  const urls = endpoints.map(({ url }) => ({ url }))
  return checkDestination({ id: 'crm', sourceIds: ['website'], endpoints: urls, ...settings })
}

interface Started extends RecordingRuntime {
  readonly pipeline: Pipeline
  /** Accepts this many track calls. */
  readonly track: (count?: number) => Promise<void>
  /** Returns the ledger after checking that it balances. */
  readonly ledger: () => Promise<DeliveryLedger>
}

/** Creates a pipeline on a virtual clock. It is closed when the test ends. */
function start(
  destinations: readonly Destination[],
  options: Partial<PipelineOptions> = {},
): Started {
  const recording = recordingRuntime(new VirtualClock(startMs))
  const ownStore = { store: new MemoryStore(), isStoreOwn: true }
  const pipeline = new Pipeline({
    destinations,
    runtime: recording.runtime,
    ...ownStore,
    ...options,
  })
  onTestFinished(() => pipeline.close())
  return {
    ...recording,
    pipeline,
    track: async (count = 1) => {
      const calls = Array.from({ length: count }, (_, index) => ({
        type: 'track',
        userId: 'u_1',
        event: 'Ping',
        messageId: `m_${index + 1}`,
      }))
      await pipeline.intake.accept({ sourceId: 'website', calls })
    },
    ledger: async () => {
      const ledger = await pipeline.ledger()
      expect(imbalances({ ...ledger, read: ledger.accepted, rejected: 0 })).toEqual([])
      return ledger
    },
  }
}

describe('a call', () => {
  test('arrives as a signed webhook', async () => {
    const endpoint = await TestEndpoint.start()
    const destination = destinationOf([endpoint], { sharedSecret: 'not-a-real-secret' })
    const { pipeline, track, ledger, settled } = start([destination])
    await track()
    await pipeline.idle()
    expect(endpoint.bodies).toEqual([
      {
        version: 1,
        type: 'track',
        userId: 'u_1',
        event: 'Ping',
        context: {},
        timestamp: '2026-01-02T03:04:05.678Z',
        messageId: 'm_1',
      },
    ])
    const { headers, body } = endpoint.requests[0]!
    expect(headers['x-signature']).toBe(signBody(body, 'not-a-real-secret'))
    expect(settled).toMatchObject([{ messageId: 'm_1', state: 'delivered', attempts: 1 }])
    expect(await ledger()).toMatchObject({ accepted: 1, routed: 1, deliveries: 1, delivered: 1 })
  })

  test('arrives at every enabled destination', async () => {
    const [crm, mail, ads] = await Promise.all([
      TestEndpoint.start(),
      TestEndpoint.start(),
      TestEndpoint.start(),
    ])
    const { pipeline, track, ledger } = start([
      destinationOf([crm], { id: 'crm' }),
      destinationOf([mail], { id: 'mail' }),
      destinationOf([ads], { id: 'ads', enabled: false }),
    ])
    await track(20)
    await pipeline.idle()
    expect([crm, mail, ads].map(({ requests }) => requests.length)).toEqual([20, 20, 0])
    expect(await ledger()).toMatchObject({ accepted: 20, deliveries: 40, delivered: 40 })
  })

  test('that is filtered or a duplicate is counted as such', async () => {
    const endpoint = await TestEndpoint.start()
    const { pipeline, ledger } = start([destinationOf([endpoint])])
    const call = { type: 'track', userId: 'u_1', event: 'Ping', messageId: 'm_1' }
    const filtered = { ...call, messageId: 'm_2', integrations: { All: false } }
    await pipeline.intake.accept({ sourceId: 'website', calls: [call, filtered, call] })
    await pipeline.idle()
    expect(endpoint.requests).toHaveLength(1)
    expect(await ledger()).toMatchObject({ accepted: 3, routed: 1, filtered: 1, duplicate: 1 })
  })

  test('is retried with the same bytes until the endpoint accepts it', async () => {
    const endpoint = await TestEndpoint.start([503, 'reset', 200])
    const { pipeline, track, ledger, requests } = start([destinationOf([endpoint])])
    await track()
    await pipeline.idle()
    expect(requests.map(({ outcome, error }) => [outcome, error])).toEqual([
      ['retry', 'status_503'],
      ['retry', 'ECONNRESET'],
      ['success', null],
    ])
    expect(requests.map(({ atMs }) => atMs - startMs)).toEqual([0, 10_000, 35_000])
    const [first, ...others] = endpoint.requests.map(({ body }) => body)
    for (const body of others) expect(body).toEqual(first)
    expect(await ledger()).toMatchObject({ delivered: 1, pending: 0 })
  })

  test('fails when the endpoint refuses it', async () => {
    const endpoint = await TestEndpoint.start(404)
    const { pipeline, track, ledger, settled } = start([destinationOf([endpoint])])
    await track()
    await pipeline.idle()
    expect(endpoint.requests).toHaveLength(1)
    expect(settled).toMatchObject([{ state: 'failed', attempts: 1, reason: 'status_404' }])
    expect(await ledger()).toMatchObject({ failed: 1, pending: 0 })
  })

  test('expires after four hours', async () => {
    const endpoint = await TestEndpoint.start(503)
    const { pipeline, track, ledger, settled } = start([destinationOf([endpoint])])
    await track()
    await pipeline.idle()
    expect(endpoint.requests).toHaveLength(10)
    expect(settled).toMatchObject([{ state: 'expired', attempts: 10, reason: 'status_503' }])
    expect(await ledger()).toMatchObject({ expired: 1, pending: 0 })
  })

  test('expires after a shorter window if one is set', async () => {
    const endpoint = await TestEndpoint.start(503)
    const destination = { ...destinationOf([endpoint]), retryForMs: 60_000 }
    const { pipeline, track, settled } = start([destination])
    await track()
    await pipeline.idle()
    expect(settled).toMatchObject([{ state: 'expired', attempts: 3 }])
  })

  // The timeout of the test is shorter than the default deadline of a request.
  test('that is not answered in time is retried and logged', { timeout: 4_500 }, async () => {
    const endpoint = await TestEndpoint.start(['hang', 200])
    const { pipeline, track, settled, warnings } = start([destinationOf([endpoint])], {
      deadlineMs: shortDeadlineMs,
    })
    await track()
    await pipeline.idle()
    expect(warnings).toEqual([
      {
        message: 'webhook timed out',
        code: 'timeout',
        messageId: 'm_1',
        url: hiddenEndpoint(endpoint.url),
      },
    ])
    expect(settled).toMatchObject([{ state: 'delivered', attempts: 2 }])
  })

  test('is delivered if one of two endpoints accepts it, and not retried at the other', async () => {
    const [working, broken] = await Promise.all([TestEndpoint.start(), TestEndpoint.start(503)])
    const { pipeline, track, ledger, settled } = start([destinationOf([broken, working])])
    await track()
    await pipeline.idle()
    expect(working.requests).toHaveLength(1)
    expect(broken.requests).toHaveLength(1)
    expect(settled).toMatchObject([{ state: 'delivered', attempts: 1 }])
    expect(await ledger()).toMatchObject({ deliveries: 1, delivered: 1 })
  })
})

test('a deletion request arrives as a notification', async () => {
  const endpoint = await TestEndpoint.start()
  const { pipeline, ledger } = start([destinationOf([endpoint])])
  await pipeline.intake.acceptDeletion({ userId: 'u_1' }, 'website')
  await pipeline.idle()
  const timestamp = '2026-01-02T03:04:05.678Z'
  expect(endpoint.bodies).toEqual([{ type: 'delete', userId: 'u_1', timestamp }])
  expect(await ledger()).toMatchObject({ delivered: 1 })
})

test('a backlog is claimed in large parts even at a small concurrency', async () => {
  const endpoint = await TestEndpoint.start()
  const store = new MemoryStore()
  let claims = 0
  const claim = store.claim.bind(store)
  store.claim = (request) => {
    claims++
    return claim(request)
  }
  const { pipeline, track, ledger } = start([destinationOf([endpoint], { concurrency: 2 })], {
    store,
  })
  await track(500)
  await pipeline.idle()
  expect(await ledger()).toMatchObject({ delivered: 500 })
  expect(claims).toBeLessThanOrEqual(10)
})

describe('stop', () => {
  test('aborts hanging requests, and leaves every unfinished delivery pending', async () => {
    const endpoint = await TestEndpoint.start('hang')
    // Even without time for retries, an aborted request must not count as an attempt.
    const destination = { ...destinationOf([endpoint], { concurrency: 1 }), retryForMs: 0 }
    const { pipeline, track, ledger, requests, settled } = start([destination])
    await track(3)
    await endpoint.received(1)
    await pipeline.stop(0)
    await pipeline.idle()
    await endpoint.disconnected()
    expect(endpoint.requests).toHaveLength(1)
    expect(requests).toMatchObject([{ outcome: 'retry', error: 'interrupted' }])
    expect(settled).toEqual([])
    expect(await ledger()).toMatchObject({ deliveries: 3, delivered: 0, expired: 0, pending: 3 })
  })

  test('lets requests finish within the grace period, and starts no more', async () => {
    const { opened, open } = gate()
    const endpoint = await TestEndpoint.start({ status: 200, after: opened })
    const destination = destinationOf([endpoint], { concurrency: 1 })
    const { pipeline, track, ledger } = start([destination])
    await track(2)
    await endpoint.received(1)
    const stopped = pipeline.stop(60_000)
    // If stop had set a timer of 0 ms, it would fire before this one.
    await new Promise((resolve) => setTimeout(resolve, 1))
    open()
    await stopped
    expect(endpoint.requests).toHaveLength(1)
    expect(await ledger()).toMatchObject({ delivered: 1, pending: 1 })
  })
})

test('a stopped pipeline does not keep the process alive', async () => {
  const endpoint = await TestEndpoint.start(503)
  const program = new URL('stop-after-one-attempt.ts', import.meta.url)
  const printed = await runSource(program, [endpoint.url])
  expect(JSON.parse(printed)).toMatchObject({ deliveries: 1, pending: 1 })
  expect(endpoint.requests).toHaveLength(1)
})

test('a pipeline without destinations has nothing to wait for', async () => {
  const { pipeline, track, ledger } = start([])
  await track()
  await pipeline.idle()
  expect(await ledger()).toMatchObject({ accepted: 1, filtered: 1, deliveries: 0 })
})

test('a closed pipeline accepts nothing, and can be closed again', async () => {
  const endpoint = await TestEndpoint.start()
  const { pipeline, track } = start([destinationOf([endpoint])])
  await track()
  await pipeline.idle()
  await pipeline.close()
  await pipeline.close()
  await endpoint.disconnected()
  await expect(track()).rejects.toMatchObject({ code: 'store_closed' })
  await expect(pipeline.ledger()).rejects.toMatchObject({ code: 'store_closed' })
})
