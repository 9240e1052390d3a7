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
const takes = 50
/** Drained of what waited: what is left came in just now, or was refused just now. */
const restMax = inflowPerSecond + 10

function sum(counts: readonly (number | undefined)[]): number {
  return counts.reduce<number>((total, count = 0) => total + count, 0)
}

/** Answers 503 for five seconds, and as the model does then. */
function down(simulation: Simulation, model: EndpointModel): void {
  const untilMs = simulation.nowMs + 5_000
  simulation.endpoint = (nowMs) => (nowMs < untilMs ? answered(503) : model(nowMs))
  simulation.run(5)
}

/** How long a backlog took to drain after an outage, and how long it takes at least. */
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
  const idealSeconds = waiting / (takes - inflowPerSecond)
  const drainSeconds = simulation.seconds - seconds
  return { drainSeconds, idealSeconds, opened, openedSince: simulation.opened - opened }
}

const limits = {
  'in each second': () => windowLimit(takes, '1'),
  'without Retry-After': () => windowLimit(takes),
  'evenly, with a burst': () => bucketLimit(takes, takes, '1'),
}

describe('an endpoint that takes 50/s and answers the rest 429, after 5 s of 503', () => {
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
    'does so, but for what it costs to find out, having taken %i/s before',
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
  ])('come back without a burst: $name', ({ learns }) => {
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
    // A second holds no more than what was under way when the first of them was refused.
    for (const count of refused) expect(count ?? 0).toBeLessThanOrEqual(concurrency)
    expect(sum(refused)).toBeLessThan(0.01 * sum(simulation.taken.slice(second)))
  })
})

test('an endpoint that answers nothing but 429 is asked less and less', () => {
  const simulation = new Simulation({
    endpoint: () => answered(429),
    inflowPerSecond,
    backlog: 1_000,
  })
  simulation.run(600)
  // At first as many as may be under way at once, then one or two every 30 s.
  expect(sum(simulation.refused)).toBeLessThan(80)
  expect(simulation.opened).toBe(0)
  expect(simulation.nowMs).toBe(startMs + 600_000)
})
