import { sampleCall, type RequestRecord, type SettledDelivery } from '../../model/index.ts'
import { Receiver, type Scenario } from '../../receiver/index.ts'
import { createRuntime, systemClock, VirtualClock, type LogLine } from '../../runtime/index.ts'
import { Pipeline } from '../../pipeline/index.ts'
import { openStore } from '../../store/index.ts'
import { checkDestination } from '../../webhook/index.ts'

/** The observations of one run of a scenario. */
export interface ScenarioObservation {
  /** The settled deliveries. */
  readonly settled: readonly SettledDelivery[]
  /** The requests in order. A refused certificate counts as a request, though nothing was sent. */
  readonly requests: readonly RequestRecord[]
  /** The number of requests that arrived, per webhook. */
  readonly arrived: readonly number[]
  /** The codes of the logged warnings. */
  readonly logged: readonly string[]
}

/** The options of a scenario run. */
export interface ScenarioRun {
  /** Request timeout, in milliseconds of real time; 5 s by default, which is also the maximum. */
  readonly deadlineMs?: number
}

const sourceId = 'scenario'
const secret = 'not-a-real-secret'

/**
 * Sends webhooks through the real dispatcher and sender to a receiver with the settings of a scenario.
 * Waiting for a retry takes no time; requests take real time.
 */
export async function runScenario(
  { settings, webhooks }: Scenario,
  { deadlineMs }: ScenarioRun = {},
): Promise<ScenarioObservation> {
  const [requests, settled, logged] = [
    [] as RequestRecord[],
    [] as SettledDelivery[],
    [] as string[],
  ]
  const warn: LogLine = (_, fields) => logged.push(String(fields?.['code']))
  await using receiver = new Receiver({ ...settings, secret, strict: true })
  const { urls } = await receiver.start()
  const pipeline = new Pipeline({
    destinations: [
      checkDestination({
        id: 'scenario',
        sourceIds: [sourceId],
        endpoints: urls.map((url) => ({ url })),
        sharedSecret: secret,
        // One at a time, so that random decisions repeat in every run.
        concurrency: 1,
      }),
    ],
    store: await openStore('memory:'),
    isStoreOwn: true,
    runtime: createRuntime({
      clock: new VirtualClock(systemClock.nowMs()),
      log: { debug: () => undefined, info: () => undefined, warn },
      observer: {
        request: (record) => requests.push(record),
        settled: (delivery) => settled.push(delivery),
        endpoint: () => undefined,
      },
    }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  })
  try {
    const calls = Array.from({ length: webhooks }, () => sampleCall('track'))
    await pipeline.intake.accept({ sourceId, calls })
    await pipeline.idle()
  } finally {
    await pipeline.close()
  }
  // Requests that were never answered become events when the receiver closes.
  await receiver.close()
  return { settled, requests, arrived: arrivals(receiver), logged }
}

function arrivals({ events }: Receiver): readonly number[] {
  const counts = new Map<unknown, number>()
  for (const { body } of events) {
    const messageId = body?.['messageId']
    counts.set(messageId, (counts.get(messageId) ?? 0) + 1)
  }
  return [...counts.values()]
}
