import { sleep, stopwatch, systemClock } from '../../../src/runtime/index.ts'
import { eventsTo } from '../../delivery/dispatching.ts'
import { withEndpoint, type LimitedEndpoint } from '../limited-endpoint.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const retried = 20_000
const livePerSecond = 50
const seconds = 12

/** How long live deliveries took from being added to their arrival; the 99th percentile. */
function delayMsP99({ requests }: LimitedEndpoint, prefix: string): number {
  const delays = requests
    .filter(({ body }) => body.startsWith(prefix))
    .map(({ body, atMs }) => atMs - Number(body.split('_')[1]))
    .sort((one, other) => one - other)
  return delays[Math.floor(delays.length * 0.99)] ?? Infinity
}

/** Live deliveries alone, and beside many that are retried by hand. */
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
  const beside = addFor(seconds, livePerSecond, 'beside')
  const elapsedMs = stopwatch()
  await store.retry({ nowMs, filter: { states: ['failed'] }, limit: retried })
  const retryMs = elapsedMs()
  dispatcher.wake()
  await beside
  const again = requests.slice(before).filter(({ body }) => body.startsWith('old')).length
  const [quietMs, besideMs] = [delayMsP99(endpoint, 'quiet'), delayMsP99(endpoint, 'beside')]
  return [
    {
      must: 'p99 of live deliveries at most 100 ms above the quiet one',
      measured: `${quietMs} ms quiet, ${besideMs} ms beside; making them due took ${retryMs.toFixed(0)} ms`,
      holds: besideMs <= quietMs + 100,
    },
    {
      must: 'the retries go on meanwhile',
      measured: `${again} of ${retried} in ${seconds} s`,
      holds: again > 1_000,
    },
  ]
}

/** An operator retries everything that failed, on an endpoint that live deliveries go to. */
export const scenario: PressureScenario = {
  title: '20,000 deliveries are retried by hand beside live ones',
  run: () => {
    let status = 404
    const heal = (): void => {
      status = 200
    }
    const answer = { status: () => status, afterMs: 5 }
    return withEndpoint(answer, (endpoint) => compare(endpoint, heal))
  },
}
