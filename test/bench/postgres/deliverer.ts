// Delivers from a store with the real pipeline, run after run, in its own process. It is ready once it has
// its share of the endpoint's concurrency, and keeps that share between the runs.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  heartbeatMs,
  processGoneMs,
  type DeliveringProcesses,
  type ProcessMembership,
} from '../../../dist/delivery/index.js'
import { createRuntime, silentLog } from '../../../dist/runtime/index.js'
import { Pipeline } from '../../../dist/pipeline/index.js'
import { openStore } from '../../../dist/store/index.js'
import { checkDestination, type DestinationSettings } from '../../../dist/webhook/index.js'
import { programSettings } from '../program.ts'
import { obey } from './commands.ts'

export interface DelivererSettings {
  /** The URL of the store. */
  readonly url: string
  /** Where its deliveries go. */
  readonly destinations: readonly DestinationSettings[]
  /** How many processes deliver to them, including this one. */
  readonly processes: number
}

const settings = programSettings() as DelivererSettings
const destinations = settings.destinations.map((each) => checkDestination(each))
const destinationIds = destinations.map(({ id }) => id)
const runtime = createRuntime({ log: silentLog })
const processId = runtime.newId()

type SendHeartbeat = () => Promise<readonly ProcessMembership[]>

/** Sends heartbeats from now on, and resolves once this process's shares are final. */
async function join(heartbeat: SendHeartbeat): Promise<void> {
  const sendHeartbeats = async (): Promise<void> => {
    for (;;) {
      await sleep(heartbeatMs)
      await heartbeat()
    }
  }
  while (!(await heartbeat()).every(isSettled)) await sleep(100)
  void sendHeartbeats()
}

function isSettled({ processes, memberMs }: ProcessMembership): boolean {
  return processes === settings.processes && memberMs >= processGoneMs
}

/**
 * The process registry for a pipeline. The process joined long before, so the pipeline neither joins nor
 * leaves.
 */
function joined(heartbeat: SendHeartbeat): DeliveringProcesses {
  const news = { tell: () => undefined, listen: () => undefined }
  return { heartbeat, leave: () => Promise.resolve(), ...news }
}

async function startDelivering(heartbeat: SendHeartbeat): Promise<() => Promise<void>> {
  let wake = (): void => undefined
  const store = await openStore(settings.url, { onNotification: () => wake() })
  const failed = (error: unknown): void => {
    process.stderr.write(`${String(error)}\n`)
    process.exit(1)
  }
  const pipeline = new Pipeline({
    destinations,
    runtime,
    store: { ...store, processes: joined(heartbeat) },
    failed,
  })
  pipeline.start()
  wake = () => pipeline.wake()
  return () => pipeline.close()
}

const { processes } = await openStore(settings.url)
if (processes === undefined) throw new Error('Processes cannot share such a store')
const heartbeat: SendHeartbeat = () => processes.heartbeat({ processId, destinationIds })
await join(heartbeat)
obey(() => startDelivering(heartbeat))
