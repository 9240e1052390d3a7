// A service in its own process, on a database that it shares with others.
import { createService } from '../../../dist/service/library.js'
import { createRuntime, silentLog } from '../../../dist/runtime/index.js'
import { answerQuestions, programSettings } from '../program.ts'
import { configurationOf } from './plan.ts'

export interface ServiceSettings {
  /** The URL of the database. */
  readonly store: string
  /** Where webhooks go. */
  readonly origin: string
}

/** A service's address and CPU time. */
export interface ServiceState {
  /** Where clients post. */
  readonly url: string
  /** CPU time so far, in milliseconds. */
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
