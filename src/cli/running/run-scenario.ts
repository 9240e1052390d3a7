import { sampleCall, type RequestRecord, type SettledDelivery } from '../../model/index.ts'
import { Receiver, type Scenario } from '../../receiver/index.ts'
import { createRuntime, systemClock, VirtualClock, type LogLine } from '../../runtime/index.ts'
import { Pipeline } from '../../pipeline/index.ts'
import { openStore } from '../../store/index.ts'
import { checkDestination } from '../../webhook/index.ts'

/** What was seen of the webhooks of a scenario. */
export interface ScenarioObservation {
  /** How their deliveries ended. */
  readonly settled: readonly SettledDelivery[]
  /** What the sender did, in order; where a certificate is refused it sent nothing. */
  readonly requests: readonly RequestRecord[]
  /** How many requests arrived, for each webhook that any arrived for. */
  readonly arrived: readonly number[]
  /** The codes of the warnings in the log. */
  readonly logged: readonly string[]
}

/** How a scenario is run. */
export interface ScenarioRun {
  /** Time that a request has, in milliseconds of real time; 5 s by default and at the most. */
  readonly deadlineMs?: number
}

const sourceId = 'scenario'
const secret = 'not-a-real-secret'

/**
 * Sends webhooks through the real dispatcher and sender to a receiver that is set to a scenario. Waiting
 * for a retry takes no time; the requests take theirs.
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
        // One after the other, so that chance has the same turn in every run.
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
  // What was never answered is an event once it has ended.
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
