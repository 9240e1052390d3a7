// Adds webhooks as BullMQ jobs and delivers them, in one process like evroute.
import { randomUUID } from 'node:crypto'
import { Queue, Worker, type WorkerOptions } from 'bullmq'
import { stopwatch } from '../../../dist/runtime/index.js'
import { Countdown } from '../load/countdown.ts'
import { inBatches } from '../load/in-batches.ts'
import { answerQuestions, programSettings } from '../program.ts'
import { sampleBody, sampleMessageId } from '../sample-webhook.ts'
import {
  connections,
  type ContenderSettings,
  type DeliveryRate,
  type DeliveryRun,
} from './contender.ts'
import { postSignedTo } from './post-signed.ts'

export interface BullmqSettings extends ContenderSettings {
  /** The socket of its redis-server. */
  readonly socket: string
  /** Worker options that differ from the defaults. */
  readonly worker: Omit<WorkerOptions, 'connection'>
}

const { socket, origin, worker: workerOptions } = programSettings() as BullmqSettings
const post = postSignedTo(origin, connections)
const connection = { path: socket, maxRetriesPerRequest: null }

async function deliver(queue: Queue, webhooks: number): Promise<DeliveryRate> {
  const completions = new Countdown(webhooks)
  const worker = new Worker<{ readonly body: string }>(
    queue.name,
    ({ data: { body } }) => post(body),
    { ...workerOptions, connection },
  )
  // Emitted once Redis has recorded the completion.
  worker.on('completed', () => completions.step())
  worker.on('error', (error) => completions.fail(error))
  worker.on('failed', (_job, error) => completions.fail(error))
  await worker.waitUntilReady()
  const elapsedMs = stopwatch()
  const batches = { count: webhooks, batchSize: 100, batchesAtOnce: 8 }
  await inBatches(batches, (_from, length) => {
    const bodies = Array.from({ length }, () => ({ body: sampleBody(sampleMessageId()) }))
    return queue.addBulk(bodies.map((data) => ({ name: 'deliver', data })))
  })
  await completions.over
  const perSecond = (webhooks * 1_000) / elapsedMs()
  await worker.close()
  return { perSecond }
}

answerQuestions(async ({ webhooks }: DeliveryRun) => {
  const queue = new Queue(randomUUID(), { connection })
  try {
    return await deliver(queue, webhooks)
  } finally {
    await queue.obliterate({ force: true })
    await queue.close()
  }
})
