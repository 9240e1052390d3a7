import { sleep, stopwatch, systemClock } from '../../../src/runtime/index.ts'
import { withEndpoint, type LimitedEndpoint } from '../limited-endpoint.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const takes = 50
const inflow = 25
const drainMsMax = 65_000

/** Takes 50 in each second and answers the rest 429; 503 for five seconds in between. */
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

/** The most of one answer in a second of the clock. */
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
      must: 'no second has more than 10 answers 429, the concurrency',
      measured: `${mostPerSecond(endpoint, 429)}, ${refused} in all`,
      holds: mostPerSecond(endpoint, 429) <= 10,
    },
    {
      must: 'only the answers 503 open the breaker',
      measured: `${openedTimes} times`,
      holds: openedTimes <= 1,
    },
  ]
}

/** An endpoint that says 429 when it is sent too much, and was down for a moment. */
export const scenario: PressureScenario = {
  title: 'an endpoint takes 50/s and answers the rest 429; 25/s come in; 5 s of 503 once',
  run: () => withEndpoint({ status: limited(), afterMs: 10 }, drain),
}
