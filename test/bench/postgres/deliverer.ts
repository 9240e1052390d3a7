// Delivers from a store with the real pipeline, run after run, in a process of its own. It says that it
// is ready once it has its share of what the endpoint may get, and keeps that between the runs.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  heartbeatMs,
  processGoneMs,
  type DeliveringProcesses,
  type ProcessPlace,
} from '../../../dist/delivery/index.js'
import { createRuntime, silentLog } from '../../../dist/runtime/index.js'
import { Pipeline } from '../../../dist/pipeline/index.js'
import { openStore } from '../../../dist/store/index.js'
import { checkDestination, type DestinationSettings } from '../../../dist/webhook/index.js'
import { programSettings } from '../program.ts'
import { obey } from './commands.ts'

/** What it delivers. */
export interface DelivererSettings {
  /** The URL of the store. */
  readonly url: string
  /** Where its deliveries go. */
  readonly destinations: readonly DestinationSettings[]
  /** How many processes deliver to these, this one included. */
  readonly processes: number
}

const settings = programSettings() as DelivererSettings
const destinations = settings.destinations.map((each) => checkDestination(each))
const destinationIds = destinations.map(({ id }) => id)
const runtime = createRuntime({ log: silentLog })
const processId = runtime.newId()

/** Beats once. */
type SendHeartbeat = () => Promise<readonly ProcessPlace[]>

/** Beats from now on, and returns once the places are those that they remain. */
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

function isSettled({ processes, memberMs }: ProcessPlace): boolean {
  return processes === settings.processes && memberMs >= processGoneMs
}

/** The processes as a pipeline sees them that has been among them for a while. */
function joined(heartbeat: SendHeartbeat): DeliveringProcesses {
  const told = { tell: () => undefined, listen: () => undefined }
  return { heartbeat, leave: () => Promise.resolve(), ...told }
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
    store,
    processes: joined(heartbeat),
    failed,
  })
  pipeline.start()
  wake = () => pipeline.wake()
  return () => pipeline.close()
}

const { processes } = await openStore(settings.url)
if (processes === undefined) throw new Error('Only one process delivers from such a store')
const heartbeat: SendHeartbeat = () => processes.heartbeat({ processId, destinationIds })
await join(heartbeat)
obey(() => startDelivering(heartbeat))
