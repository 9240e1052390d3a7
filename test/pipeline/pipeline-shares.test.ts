import { expect, onTestFinished, test } from 'vitest'
import {
  processGoneMs,
  type DeliveringProcesses,
  type PurgeRequest,
  type PurgeResult,
} from '../../src/delivery/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { Pipeline } from '../../src/pipeline/index.ts'
import { MemoryStore } from '../support/memory-store.ts'
import { checkDestination } from '../../src/webhook/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { gate } from '../support/gate.ts'
import { ProcessRegistry } from '../support/process-registry.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'

/** The part of `DeliveringProcesses` for news. These processes exchange none. */
const alone = { tell: () => undefined, listen: () => undefined }

interface SharedPipeline {
  readonly processes?: DeliveringProcesses
  readonly id: string
  readonly store?: MemoryStore
  readonly isService?: boolean
}

/** Starts a pipeline with a store of its own that shares an endpoint with other pipelines. */
function startPipeline(
  endpoint: TestEndpoint,
  clock: ManualClock,
  { processes, id, store = new MemoryStore(), isService = false }: SharedPipeline,
) {
  const recording = recordingRuntime(clock)
  const connections: string[] = []
  const destination = checkDestination({
    id: 'crm',
    sourceIds: ['website'],
    endpoints: [{ url: endpoint.url }],
    concurrency: 4,
  })
  const pipeline = new Pipeline({
    destinations: [destination],
    runtime: { ...recording.runtime, newId: () => id },
    store: Object.assign(store, { processes }),
    connection: ({ kind }) => connections.push(kind),
    isService,
  })
  pipeline.start()
  onTestFinished(() => pipeline.close())
  let calls = 0
  const track = async (count: number): Promise<void> => {
    const all = Array.from({ length: count }, () => ({
      type: 'track',
      userId: 'u_1',
      event: 'Ping',
      messageId: `${id}-${++calls}`,
    }))
    await pipeline.intake.accept({ sourceId: 'website', calls: all })
  }
  return { ...recording, pipeline, track, connections }
}

test('two pipelines share the concurrency of an endpoint, and one takes all of it when the other closes', async () => {
  const clock = new ManualClock(startMs)
  const registry = new ProcessRegistry(() => clock.nowMs())
  const requestsAtLeave: number[] = []
  const processes: DeliveringProcesses = {
    ...alone,
    heartbeat: (request) => registry.heartbeat(request),
    leave: (request) => {
      requestsAtLeave.push(second.pipeline.requests)
      return registry.leave(request)
    },
  }
  const { opened, open } = gate()
  const endpoint = await TestEndpoint.start({ status: 200, after: opened })
  const first = startPipeline(endpoint, clock, { processes, id: 'p-1' })
  await clock.advance(0)
  const second = startPipeline(endpoint, clock, { processes, id: 'p-2' })
  await clock.advance(processGoneMs + 2_000)
  await Promise.all([first.track(10), second.track(10)])
  await endpoint.received(4)
  await clock.advance(0)
  expect([first.pipeline.requests, second.pipeline.requests]).toEqual([2, 2])
  await second.pipeline.close()
  // None of its requests is in flight any more when the other pipeline takes over.
  expect(requestsAtLeave).toEqual([0])
  await clock.advance(processGoneMs)
  expect(first.pipeline.requests).toBe(4)
  open()
  await first.pipeline.idle()
  expect(first.settled).toHaveLength(10)
})

test('nothing is sent before there is a share, and a change of the share leaves connections open', async () => {
  const clock = new ManualClock(startMs)
  const registry = new ProcessRegistry(() => clock.nowMs())
  const { opened, open } = gate()
  const processes: DeliveringProcesses = {
    ...alone,
    heartbeat: async (request) => {
      await opened
      return registry.heartbeat(request)
    },
    leave: (request) => registry.leave(request),
  }
  const endpoint = await TestEndpoint.start()
  const { pipeline, track, connections, settled } = startPipeline(endpoint, clock, {
    processes,
    id: 'p-1',
  })
  await track(1)
  await clock.advance(1_000)
  expect(endpoint.requests).toHaveLength(0)
  open()
  await pipeline.idle()
  expect(settled).toHaveLength(1)
  await registry.heartbeat({ processId: 'other', destinationIds: ['crm'] })
  await clock.advance(processGoneMs / 2)
  await track(1)
  await pipeline.idle()
  expect(connections).toEqual(['opened', 'reused'])
})

test('a permanent error of a heartbeat stops the dispatcher', async () => {
  const clock = new ManualClock(startMs)
  const error = new Error('permission denied')
  const processes: DeliveringProcesses = {
    ...alone,
    heartbeat: () => Promise.reject(error),
    leave: () => Promise.resolve(),
  }
  const endpoint = await TestEndpoint.start()
  const { pipeline, track } = startPipeline(endpoint, clock, { processes, id: 'p-1' })
  await clock.advance(0)
  await expect(pipeline.idle()).rejects.toBe(error)
  await expect(track(1)).rejects.toBe(error)
})

test.each([
  {
    title: 'a service purges a shared store in steps of 2,000 rows',
    isShared: true,
    isService: true,
    rows: [2_000],
  },
  { title: 'a command purges no shared store', isShared: true, isService: false, rows: [] },
  {
    title: 'a store of one process, which long purges would block, is purged in steps of 200 rows',
    isShared: false,
    isService: false,
    rows: [200],
  },
])('$title', async ({ isShared, isService, rows }) => {
  const clock = new ManualClock(startMs)
  const steps: number[] = []
  const store = new (class extends MemoryStore {
    override purge(request: PurgeRequest): Promise<PurgeResult> {
      steps.push(request.rowsMax)
      return super.purge(request)
    }
  })()
  const registry = new ProcessRegistry(() => clock.nowMs())
  const endpoint = await TestEndpoint.start()
  startPipeline(endpoint, clock, {
    id: 'p-1',
    store,
    isService,
    ...(isShared && { processes: registry }),
  })
  await clock.advance(60_000)
  expect([...new Set(steps)]).toEqual(rows)
})
