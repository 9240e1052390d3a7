// A service over a database that it shares with others, in a process of its own.
import { createService } from '../../../dist/service/library.js'
import { createRuntime, silentLog } from '../../../dist/runtime/index.js'
import { answerQuestions, programSettings } from '../program.ts'
import { configurationOf } from './plan.ts'

/** What a service is started with. */
export interface ServiceSettings {
  /** The URL of the database. */
  readonly store: string
  /** Where webhooks go. */
  readonly origin: string
}

/** What a service tells of itself. */
export interface ServiceState {
  /** Where clients post to. */
  readonly url: string
  /** CPU that it has used, in milliseconds. */
  readonly cpuMs: number
}

const { store, origin } = programSettings() as ServiceSettings
const { address } = await createService({
  configuration: { ...configurationOf(origin), store } as never,
  runtime: createRuntime({ log: silentLog }),
  onFailure: (error) => {
    process.stderr.write(`${String(error)}\n`)
    process.exit(1)
  },
})
answerQuestions((): ServiceState => {
  const { user, system } = process.cpuUsage()
  return { url: address.url, cpuMs: (user + system) / 1_000 }
})
