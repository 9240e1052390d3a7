import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../src/runtime/index.ts'
import { Pipeline } from '../../src/pipeline/index.ts'
import { openDeliveryLog, openStore } from '../../src/store/index.ts'
import { checkDestination } from '../../src/webhook/index.ts'
import { TestEndpoint, type Plan } from '../support/endpoint.ts'
import { gate } from '../support/gate.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const hourMs = 60 * 60 * 1_000
const everything = { filter: {}, limit: 100 }

/** Starts a pipeline over a store in a file, and opens its delivery log as another process would. */
async function start(plan: Plan) {
  const url = `sqlite:${join(await temporaryFolder(), 'store.db')}`
  const endpoint = await TestEndpoint.start(plan)
  const clock = new ManualClock(startMs)
  const destination = checkDestination({
    id: 'crm',
    sourceIds: ['website'],
    endpoints: [{ url: endpoint.url }],
  })
  const reopened = async (): Promise<Pipeline> => {
    const store = await openStore(url)
    const next = new Pipeline({ destinations: [destination], store, ...recordingRuntime(clock) })
    onTestFinished(() => next.close())
    return next
  }
  const pipeline = await reopened()
  pipeline.start()
  const log = await openDeliveryLog(url, { write: true })
  onTestFinished(() => log.close())
  const track = async (messageId: string): Promise<void> => {
    const call = { type: 'track', userId: 'u_1', event: 'Ping', messageId }
    await pipeline.intake.accept({ sourceId: 'website', calls: [call] })
  }
  return { endpoint, clock, destination, pipeline, reopened, log, track }
}

describe('a pipeline over a store', () => {
  test('notices a manual retry by another process within a second', async () => {
    const { endpoint, clock, pipeline, log, track } = await start([404, 200])
    await track('m_1')
    await pipeline.idle()
    expect(await log.list(everything)).toMatchObject([{ state: 'failed', reason: 'status_404' }])

    expect(await log.retry({ nowMs: clock.nowMs(), filter: {}, limit: 10 })).toMatchObject({
      deliveries: 1,
    })
    await clock.advance(1_000)
    await endpoint.received(2)
    await pipeline.idle()
    const [delivery] = await log.list(everything)
    expect(delivery).toMatchObject({ state: 'delivered', attempts: 2, manualRetries: 1 })
    const story = await log.story({ destinationId: 'crm', id: delivery!.id })
    expect(story?.requests).toMatchObject([
      { lane: 'first', attempt: 1, status: 404, atMs: startMs },
      { lane: 'manual', attempt: 2, status: 200, atMs: startMs + 1_000 },
    ])
  })

  test('purges deliveries a day after success and 30 days after failure, but keeps their counts', async () => {
    const { clock, pipeline, log, track } = await start(({ body }) =>
      body.includes('m_good') ? 200 : 404,
    )
    await track('m_good')
    await track('m_bad')
    await pipeline.idle()
    clock.jump(23 * hourMs)
    await clock.advance(60_000)
    expect(await log.list(everything)).toHaveLength(2)
    clock.jump(hourMs)
    await clock.advance(60_000)
    expect(await log.list(everything)).toMatchObject([{ messageId: 'm_bad' }])
    // After a day, the same messageId counts as a new event.
    await track('m_good')
    await pipeline.idle()
    clock.jump(30 * 24 * hourMs)
    await clock.advance(60_000)
    expect(await log.list(everything)).toEqual([])
    expect(await log.audit()).toMatchObject({
      ledger: { accepted: 3, delivered: 2, failed: 1, pending: 0 },
      counted: { pending: 0, delivered: 0, failed: 0, expired: 0 },
      purged: { delivered: 2, failed: 1, expired: 0 },
    })
  })

  test('sends to the new destinations once they are replaced, and loses nothing that is in progress', async () => {
    const { opened, open } = gate()
    const { endpoint, clock, pipeline, log, track } = await start(({ body }) =>
      body.includes('m_1') ? { status: 200, after: opened } : 200,
    )
    const other = await TestEndpoint.start()
    await track('m_1')
    await endpoint.received(1)
    const moved = checkDestination({
      id: 'crm',
      sourceIds: ['website'],
      endpoints: [{ url: other.url }],
    })
    pipeline.replaceDestinations([moved])
    await track('m_2')
    await other.received(1)
    open()
    await clock.advance(1_000)
    await pipeline.idle()
    await pipeline.stop(1_000)
    expect(endpoint.requests).toHaveLength(1)
    expect(other.requests).toHaveLength(1)
    expect(await log.audit()).toMatchObject({ ledger: { delivered: 2, pending: 0 } })
  })

  test('sends no backlog of a disabled destination until it is enabled again', async () => {
    const { opened, open } = gate()
    const { endpoint, clock, pipeline, destination, log, track } = await start({
      status: 200,
      after: opened,
    })
    for (let count = 1; count <= 20; count++) await track(`m_${count}`)
    await endpoint.received(destination.concurrency)
    pipeline.replaceDestinations([{ ...destination, enabled: false }])
    open()
    await pipeline.idle()
    expect(endpoint.requests).toHaveLength(destination.concurrency)
    expect(await log.audit()).toMatchObject({ ledger: { delivered: 10, pending: 10 } })
    pipeline.replaceDestinations([destination])
    await clock.advance(1_000)
    await endpoint.received(20)
    await pipeline.idle()
    expect(await log.audit()).toMatchObject({ ledger: { delivered: 20, pending: 0 } })
  })

  test('sends nothing that it finds in the store before its start', async () => {
    const { endpoint, clock, pipeline, track, reopened } = await start(['hang', 200])
    await track('m_1')
    await endpoint.received(1)
    await pipeline.close()
    const idle = await reopened()
    await clock.advance(2_000)
    // If it had claimed, the store would have answered the claim before this call, and stop would wait for the request.
    await idle.ledger()
    await idle.stop(10_000)
    expect(endpoint.requests).toHaveLength(1)
    await idle.close()
    const next = await reopened()
    next.start()
    await endpoint.received(2)
    await next.idle()
  })

  test('leaves the deliveries of a removed destination in the store', async () => {
    const { endpoint, pipeline, log, track } = await start('hang')
    await track('m_1')
    await endpoint.received(1)
    pipeline.replaceDestinations([])
    await pipeline.stop(10)
    expect(await log.list(everything)).toMatchObject([{ messageId: 'm_1', state: 'pending' }])
  })
})
