// Delivers with graphile-worker and undici's pool, run after run, in a process of its own.
import { run, type TaskList } from 'graphile-worker'
import { Pool } from 'undici'
import { signBody } from '../../../dist/webhook/index.js'
import { programSettings } from '../program.ts'
import { obey } from './commands.ts'
import { sampleSecret } from '../sample-webhook.ts'
import { silentLogger } from './silent-logger.ts'
import { deliverTask } from './waiting-work.ts'

/** What it delivers. */
export interface PeerSettings {
  /** The URL of the database with its jobs. */
  readonly url: string
  /** Where webhooks go. */
  readonly origin: string
  /** Connections to it at the most. */
  readonly connections: number
  /** What differs from how graphile-worker runs by default. */
  readonly worker: GraphileConfig.WorkerOptions
}

const { url, origin, connections, worker } = programSettings() as PeerSettings
const pool = new Pool(origin, { connections })

const taskList: TaskList = {
  [deliverTask]: async (payload) => {
    const { body } = payload as { readonly body: string }
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'evroute/1.0',
      'x-signature': signBody(body, sampleSecret),
    }
    const { statusCode, body: answer } = await pool.request({
      method: 'POST',
      path: '/',
      headers,
      body,
      headersTimeout: 5_000,
      bodyTimeout: 5_000,
    })
    await answer.dump()
    if (statusCode >= 300) throw new Error(`Answered ${statusCode}`)
  },
}

obey(async () => {
  const preset = { worker }
  const options = { connectionString: url, noHandleSignals: true, logger: silentLogger }
  const runner = await run({ ...options, preset, taskList })
  return () => runner.stop()
})
