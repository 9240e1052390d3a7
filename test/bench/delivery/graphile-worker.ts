// Adds webhooks as graphile-worker jobs and delivers them, in one process like evroute.
import { setTimeout as sleep } from 'node:timers/promises'
import { makeWorkerUtils, run } from 'graphile-worker'
import { Client } from 'pg'
import { stopwatch } from '../../../dist/runtime/index.js'
import { Countdown } from '../load/countdown.ts'
import { inBatches } from '../load/in-batches.ts'
import { silentLogger } from '../postgres/silent-logger.ts'
import { answerQuestions, programSettings } from '../program.ts'
import { sampleBody, sampleMessageId } from '../sample-webhook.ts'
import {
  connections,
  type ContenderSettings,
  type DeliveryRate,
  type DeliveryRun,
} from './contender.ts'
import { postSignedTo } from './post-signed.ts'

export interface GraphileSettings extends ContenderSettings {
  /** The URL of its database. */
  readonly url: string
  /** Worker options that differ from the defaults. */
  readonly worker: GraphileConfig.WorkerOptions
}

const task = 'deliver'
const jobsTable = 'graphile_worker._private_jobs'
const pollEveryMs = 2

const { url, origin, worker } = programSettings() as GraphileSettings
const post = postSignedTo(origin, connections)
const utils = await makeWorkerUtils({ connectionString: url, logger: silentLogger })
await utils.migrate()
const client = new Client({ connectionString: url })
await client.connect()

async function isDone(): Promise<boolean> {
  return (await client.query(`SELECT FROM ${jobsTable} LIMIT 1`)).rowCount === 0
}

async function deliver(webhooks: number): Promise<DeliveryRate> {
  const posts = new Countdown(webhooks)
  const runner = await run({
    connectionString: url,
    noHandleSignals: true,
    logger: silentLogger,
    preset: { worker },
    taskList: {
      [task]: async (payload) => {
        await post((payload as { readonly body: string }).body)
        posts.step()
      },
    },
  })
  const elapsedMs = stopwatch()
  const batches = { count: webhooks, batchSize: 100, batchesAtOnce: 8 }
  await inBatches(batches, (_from, length) => {
    const payloads = Array.from({ length }, () => ({ body: sampleBody(sampleMessageId()) }))
    return utils.addJobs(payloads.map((payload) => ({ identifier: task, payload })))
  })
  await posts.over
  // A job stays in the table until it is done.
  while (!(await isDone())) await sleep(pollEveryMs)
  const perSecond = (webhooks * 1_000) / elapsedMs()
  await runner.stop()
  return { perSecond }
}

answerQuestions(async ({ webhooks }: DeliveryRun) => {
  await client.query(`TRUNCATE ${jobsTable}`)
  await client.query('VACUUM (ANALYZE)')
  return await deliver(webhooks)
})
