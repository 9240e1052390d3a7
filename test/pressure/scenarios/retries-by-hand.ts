import { sleep, stopwatch, systemClock } from '../../../src/runtime/index.ts'
import { eventsTo } from '../../delivery/dispatching.ts'
import { withEndpoint, type LimitedEndpoint } from '../limited-endpoint.ts'
import { p99 } from '../p99.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const retried = 20_000
const livePerSecond = 50
const seconds = 12

/** The 99th percentile of the time from the addition of a live delivery until its arrival. */
function delayMsP99({ requests }: LimitedEndpoint, prefix: string): number {
  const live = requests.filter(({ body }) => body.startsWith(prefix))
  return p99(live.map(({ body, atMs }) => atMs - Number(body.split('_')[1])))
}

/** Measures live deliveries alone, and then during many manual retries. */
async function compare(
  endpoint: LimitedEndpoint,
  heal: () => void,
): Promise<readonly PressureFinding[]> {
  const { dispatcher, store, addFor, requests } = endpoint
  for (let added = 0; added < retried; added += 1_000) {
    await dispatcher.add(eventsTo('crm', 1_000, `old_${added}`))
  }
  while ((await store.ledger()).failed < retried) await sleep(systemClock, 100)
  heal()
  await addFor(seconds, livePerSecond, 'quiet')
  const { length: before } = requests
  const nowMs = systemClock.nowMs()
  const adding = addFor(seconds, livePerSecond, 'busy')
  const elapsedMs = stopwatch()
  await store.retry({ nowMs, filter: { states: ['failed'] }, limit: retried })
  const retryMs = elapsedMs()
  dispatcher.wake()
  await adding
  const again = requests.slice(before).filter(({ body }) => body.startsWith('old')).length
  const [quietMs, busyMs] = [delayMsP99(endpoint, 'quiet'), delayMsP99(endpoint, 'busy')]
  return [
    {
      must: 'the p99 of live deliveries is at most 100 ms above that without retries',
      measured: `${quietMs} ms without, ${busyMs} ms with; making the retries due took ${retryMs.toFixed(0)} ms`,
      holds: busyMs <= quietMs + 100,
    },
    {
      must: 'the retries proceed meanwhile',
      measured: `${again} of ${retried} in ${seconds} s`,
      holds: again > 1_000,
    },
  ]
}

/** An operator retries all failed deliveries of an endpoint that also gets live ones. */
export const scenario: PressureScenario = {
  title: '20,000 deliveries are retried by hand while live ones arrive',
  run: () => {
    let status = 404
    const heal = (): void => {
      status = 200
    }
    const answer = { status: () => status, afterMs: 5 }
    return withEndpoint(answer, (endpoint) => compare(endpoint, heal))
  },
}
