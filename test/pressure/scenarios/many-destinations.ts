import { setTimeout as sleep } from 'node:timers/promises'
import { Dispatcher, type DeliveryStore } from '../../../src/delivery/index.ts'
import { createRuntime, stopwatch, systemClock } from '../../../src/runtime/index.ts'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { checkDestination } from '../../../src/webhook/index.ts'
import { PostgresServer } from '../../support/postgres.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const destinations = 5_000
const perSecond = 500
const batchesPerSecond = 25
const lastsMs = 30_000
const answerMs = 20

/** Measures how long calls of `nextDue` take in total. */
class NextDueTimer {
  tookMs = 0

  wrap(store: DeliveryStore): DeliveryStore {
    return new Proxy(store, {
      get: (target, name) => {
        if (name === 'nextDue') return (request: never) => this.#measure(target.nextDue(request))
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
  }

  async #measure<Result>(answer: Promise<Result>): Promise<Result> {
    const elapsedMs = stopwatch()
    try {
      return await answer
    } finally {
      this.tookMs += elapsedMs()
    }
  }
}

/** Adds events to one destination after another, like a process that only ingests. */
async function ingest(store: DeliveryStore): Promise<number> {
  const elapsedMs = stopwatch()
  let added = 0
  for (let batch = 0; elapsedMs() < lastsMs; batch++) {
    const events = Array.from({ length: perSecond / batchesPerSecond }, () => {
      const destinationId = `d${(added * 7) % destinations}`
      const deliveries = [{ destinationId, body: '{}' }]
      const messageId = `m_${added++}`
      return { sourceId: 'website', messageId, type: 'track' as const, userId: null, deliveries }
    })
    await store.add({ nowMs: systemClock.nowMs(), seenSinceMs: 0, events, handOver: [] })
    await sleep(Math.max((batch + 1) * (1_000 / batchesPerSecond) - elapsedMs(), 0))
  }
  return added
}

async function run(): Promise<readonly PressureFinding[]> {
  const server = await PostgresServer.start()
  let wake: Dispatcher['wake'] = () => undefined
  const ingesting = await openPostgresStore(server.url())
  const delivering = await openPostgresStore(server.url(), {
    onNotification: (dueTimes) => wake(dueTimes),
  })
  const timer = new NextDueTimer()
  let sent = 0
  const sender = {
    post: async () => {
      sent++
      await sleep(answerMs)
      return { kind: 'answered', status: 200, retryAfter: undefined, excerpt: '' } as const
    },
  }
  const targets = Array.from({ length: destinations }, (_, index) => {
    const endpoints = [{ url: `https://example.com/${index}` }]
    return {
      destination: checkDestination({ id: `d${index}`, sourceIds: ['website'], endpoints }),
      sender,
    }
  })
  const store = timer.wrap(delivering)
  const dispatcher = new Dispatcher({ store, targets, runtime: createRuntime() })
  wake = (dueTimes) => dispatcher.wake(dueTimes)
  const waking = setInterval(() => dispatcher.wake(), 1_000)
  try {
    dispatcher.wake()
    const elapsedMs = stopwatch()
    const added = await ingest(ingesting)
    await sleep(500)
    const unsent = added - sent
    const share = timer.tookMs / elapsedMs()
    return [
      {
        must: 'claims keep up: half a second after the last event, at most 250 deliveries wait',
        measured: `${added} added, ${unsent} wait`,
        holds: unsent <= perSecond / 2,
      },
      {
        must: 'nextDue takes less than 10 % of the time',
        measured: `${(100 * share).toFixed(1)} %`,
        holds: share < 0.1,
      },
    ]
  } finally {
    clearInterval(waking)
    await dispatcher.stop()
    await delivering.close()
    await ingesting.close()
    await server.end()
  }
}

/** Separate roles: one process ingests, another delivers. */
export const scenario: PressureScenario = {
  title: '5,000 destinations, 500 events/s from a process that does not deliver',
  run,
}
