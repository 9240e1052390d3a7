import { sleep, stopwatch, systemClock } from '../../../src/runtime/index.ts'
import { withEndpoint, type LimitedEndpoint } from '../limited-endpoint.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const takes = 50
const inflow = 25
const drainMsMax = 65_000

/** Accepts 50 requests per second and answers 429 to the others; answers 503 for five seconds in between. */
function limited(): (nowMs: number) => number {
  let startMs: number | undefined
  let second = 0
  let taken = 0
  return (nowMs) => {
    startMs ??= nowMs
    if (nowMs - startMs > 3_000 && nowMs - startMs < 8_000) return 503
    const now = Math.floor(nowMs / 1_000)
    if (now !== second) taken = 0
    second = now
    return taken++ < takes ? 200 : 429
  }
}

/** The highest number of answers with this status in any second. */
function mostPerSecond({ requests }: LimitedEndpoint, status: number): number {
  const counts = new Map<number, number>()
  for (const request of requests.filter((each) => each.status === status)) {
    const second = Math.floor(request.atMs / 1_000)
    counts.set(second, (counts.get(second) ?? 0) + 1)
  }
  return Math.max(0, ...counts.values())
}

async function drain(endpoint: LimitedEndpoint): Promise<readonly PressureFinding[]> {
  const { store, requests, addFor, opened } = endpoint
  const adding = addFor(8 + drainMsMax / 1_000, inflow, 'live')
  await sleep(systemClock, 8_500)
  const isUp = (): boolean => requests.slice(-1).some(({ status }) => status !== 503)
  while (!isUp()) await sleep(systemClock, 50)
  const backlog = (await store.ledger()).pending
  const elapsedMs = stopwatch()
  while ((await store.ledger()).pending > inflow && elapsedMs() < drainMsMax) {
    await sleep(systemClock, 100)
  }
  const drainSeconds = elapsedMs() / 1_000
  const refused = requests.filter(({ status }) => status === 429).length
  const openedTimes = opened()
  const idealSeconds = backlog / (takes - inflow)
  await adding
  return [
    {
      must: 'the backlog drains within twice the ideal time',
      measured: `${backlog} in ${drainSeconds.toFixed(0)} s, ideally ${idealSeconds.toFixed(0)} s`,
      holds: backlog > 500 && drainSeconds < 2 * idealSeconds,
    },
    {
      must: 'at most 10 answers in any second are 429, which is the concurrency',
      measured: `${mostPerSecond(endpoint, 429)}, ${refused} in total`,
      holds: mostPerSecond(endpoint, 429) <= 10,
    },
    {
      must: 'only the 503 answers open the breaker',
      measured: `${openedTimes} times`,
      holds: openedTimes <= 1,
    },
  ]
}

/** An endpoint that answers 429 to too many requests, and is down once for a few seconds. */
export const scenario: PressureScenario = {
  title: 'an endpoint accepts 50/s, answers 429 to the others, and 503 for 5 s; 25/s arrive',
  run: () => withEndpoint({ status: limited(), afterMs: 10 }, drain),
}
