// Delivers with graphile-worker and undici's pool, run after run, in its own process.
import { run, type TaskList } from 'graphile-worker'
import { postSignedTo } from '../delivery/post-signed.ts'
import { programSettings } from '../program.ts'
import { obey } from './commands.ts'
import { silentLogger } from './silent-logger.ts'
import { deliverTask } from './waiting-jobs.ts'

export interface PeerSettings {
  /** The URL of the database with its jobs. */
  readonly url: string
  /** Where webhooks go. */
  readonly origin: string
  /** The most connections to the origin. */
  readonly connections: number
  /** Worker options that differ from the defaults. */
  readonly worker: GraphileConfig.WorkerOptions
}

const { url, origin, connections, worker } = programSettings() as PeerSettings
const post = postSignedTo(origin, connections)

const taskList: TaskList = {
  [deliverTask]: (payload) => post((payload as { readonly body: string }).body),
}

obey(async () => {
  const preset = { worker }
  const options = { connectionString: url, noHandleSignals: true, logger: silentLogger }
  const runner = await run({ ...options, preset, taskList })
  return () => runner.stop()
})
