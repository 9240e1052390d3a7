import { describe, expect, test } from 'vitest'
import { startMs } from '../support/recording-runtime.ts'
import {
  bucketLimit,
  Simulation,
  windowLimit,
  type EndpointModel,
  type SimulationOptions,
} from './pace-simulation.ts'
import { answered } from './samples.ts'

const inflowPerSecond = 25
const acceptedPerSecond = 50
/** A backlog counts as drained if at most this many deliveries are left, which just arrived or were just refused. */
const restMax = inflowPerSecond + 10

function sum(counts: readonly (number | undefined)[]): number {
  return counts.reduce<number>((total, count = 0) => total + count, 0)
}

/** Lets the endpoint answer 503 for five seconds, then follow the model. */
function down(simulation: Simulation, model: EndpointModel): void {
  const untilMs = simulation.nowMs + 5_000
  simulation.endpoint = (nowMs) => (nowMs < untilMs ? answered(503) : model(nowMs))
  simulation.run(5)
}

/** Returns how long a backlog took to drain after an outage, and the ideal time. */
function drainAfterOutage(
  options: Pick<SimulationOptions, 'seed' | 'processes' | 'latencyMs'>,
  { before, now }: { readonly before: EndpointModel; readonly now: EndpointModel },
) {
  const simulation = new Simulation({ ...options, endpoint: before, inflowPerSecond })
  simulation.run(40)
  down(simulation, now)
  const opened = simulation.opened
  const takenBefore = sum(simulation.taken)
  simulation.run(120, () => sum(simulation.taken) > takenBefore)
  const { waiting, seconds } = simulation
  simulation.run(600, () => simulation.waiting <= restMax)
  const idealSeconds = waiting / (acceptedPerSecond - inflowPerSecond)
  const drainSeconds = simulation.seconds - seconds
  return { drainSeconds, idealSeconds, opened, openedSince: simulation.opened - opened }
}

const limits = {
  'in each second': () => windowLimit(acceptedPerSecond, '1'),
  'without Retry-After': () => windowLimit(acceptedPerSecond),
  'evenly, with a burst': () => bucketLimit(acceptedPerSecond, acceptedPerSecond, '1'),
}

describe('an endpoint that accepts 50/s and answers the rest with 429, after 5 s of 503', () => {
  const cases = Object.entries(limits).flatMap(([limit, model]) =>
    [1, 2].flatMap((processes) => [1, 2].map((seed) => ({ limit, model, processes, seed }))),
  )

  test.each(cases)(
    'drains within twice the ideal time: $limit, processes $processes, seed $seed',
    ({ model, processes, seed }) => {
      const limit = model()
      const drain = drainAfterOutage({ processes, seed }, { before: limit, now: limit })
      expect(drain.idealSeconds).toBeGreaterThan(20)
      expect(drain.drainSeconds).toBeLessThan(2 * drain.idealSeconds)
      // Only the answers 503 open breakers.
      expect(drain).toMatchObject({ opened: processes, openedSince: 0 })
    },
  )

  test.each([1, 5, 20, 500])(
    'drains within twice the ideal time plus 20 s if it accepted %i/s before',
    (takenBefore) => {
      for (const [index, model] of Object.values(limits).entries()) {
        const before = windowLimit(takenBefore, '1')
        const options = { seed: index, processes: 1 + (index % 2), latencyMs: 4 + 40 * index }
        const drain = drainAfterOutage(options, { before, now: model() })
        expect(drain.drainSeconds).toBeLessThan(2 * drain.idealSeconds + 20)
        expect(drain.openedSince).toBe(0)
      }
    },
  )
})

describe('50,000 parked deliveries', () => {
  test.each([
    { name: 'of an endpoint whose pace is known', learns: true },
    { name: 'of an endpoint that never answered 429', learns: false },
  ])('are sent without a burst: $name', ({ learns }) => {
    const concurrency = 10
    const model = windowLimit(200, '1')
    const simulation = new Simulation({
      endpoint: model,
      inflowPerSecond: learns ? 250 : 25,
      concurrency,
    })
    simulation.run(10)
    down(simulation, model)
    simulation.backlog += 50_000
    const second = Math.floor(simulation.seconds)
    simulation.run(400, () => sum(simulation.taken) > 45_000)
    expect(sum(simulation.taken)).toBeGreaterThan(45_000)
    const refused = simulation.refused.slice(second)
    // In each second, the endpoint can refuse only the requests in flight at the first refusal.
    for (const count of refused) expect(count ?? 0).toBeLessThanOrEqual(concurrency)
    expect(sum(refused)).toBeLessThan(0.01 * sum(simulation.taken.slice(second)))
  })
})

test('an endpoint that always answers 429 gets fewer and fewer requests', () => {
  const simulation = new Simulation({
    endpoint: () => answered(429),
    inflowPerSecond,
    backlog: 1_000,
  })
  simulation.run(600)
  // At first as many as may be in flight, then one or two every 30 s.
  expect(sum(simulation.refused)).toBeLessThan(80)
  expect(simulation.opened).toBe(0)
  expect(simulation.nowMs).toBe(startMs + 600_000)
})
