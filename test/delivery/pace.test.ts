import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { Pace } from '../../src/delivery/pace.ts'
import { startMs } from '../support/recording-runtime.ts'

const pauseMsMax = 60 * 60 * 1_000

let pace: Pace
let nowMs: number

beforeEach(() => {
  pace = new Pace({ random: () => 0, pauseMsMax })
  nowMs = startMs
})

/** Starts requests as fast as the pace allows, and accepts each at once. Returns their number. */
function takeFor(durationMs: number): number {
  let taken = 0
  for (const endMs = nowMs + durationMs; nowMs < endMs; nowMs++) {
    while (pace.perSecond < Infinity && pace.freeAtMs(nowMs) <= nowMs) {
      pace.admitted(pace.start(nowMs), nowMs)
      taken++
    }
  }
  return taken
}

/** Accepts requests at an even rate for some seconds. */
function take(perSecond: number, seconds = 1): void {
  for (let taken = 0; taken < perSecond * seconds; taken++) {
    pace.admitted(pace.start(nowMs), nowMs)
    nowMs += 1_000 / perSecond
  }
  nowMs = Math.ceil(nowMs)
}

function refuse(retryAfterMs?: number): void {
  pace.refused(pace.start(nowMs), nowMs, retryAfterMs)
}

function waitForPause(): void {
  nowMs = pace.pausedUntilMs(nowMs) ?? nowMs
}

test('a pace has no limit without a 429', () => {
  take(5_000)
  expect(pace.perSecond).toBe(Infinity)
  expect(pace.freeAtMs(nowMs)).toBeLessThanOrEqual(nowMs)
})

describe('a 429', () => {
  test('cuts the rate to nine tenths of the recently accepted rate', () => {
    take(50, 3)
    refuse()
    expect(pace.perSecond).toBe(45)
  })

  test('never cuts the rate below half of the sent rate', () => {
    const starts = Array.from({ length: 20 }, () => pace.start(nowMs))
    pace.admitted(starts[0]!, nowMs)
    pace.refused(starts[1]!, nowMs)
    expect(pace.perSecond).toBe(10)
  })

  test('of a request that started before the cut changes nothing', () => {
    take(50)
    const starts = [pace.start(nowMs), pace.start(nowMs)] as const
    pace.refused(starts[0], nowMs, 2_000)
    const { perSecond } = pace
    pace.refused(starts[1], nowMs + 500, 2_000)
    expect(pace.perSecond).toBe(perSecond)
    expect(pace.pausedUntilMs(nowMs)).toBe(nowMs + 2_000)
  })

  test('does not cut the rate again until a request is accepted', () => {
    take(50)
    refuse()
    const { perSecond } = pace
    for (let refused = 0; refused < 20; refused++) {
      waitForPause()
      refuse()
    }
    expect(pace.perSecond).toBe(perSecond)
  })
})

describe('a pause', () => {
  test('lasts a second, then twice as long each time, up to 30 s, until a request is accepted', () => {
    const durationsMs = Array.from({ length: 7 }, () => {
      refuse()
      const durationMs = pace.pausedUntilMs(nowMs)! - nowMs
      expect(pace.freeAtMs(nowMs)).toBe(nowMs + durationMs)
      waitForPause()
      return durationMs
    })
    expect(durationsMs).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
    pace.admitted(pace.start(nowMs), nowMs)
    refuse()
    expect(pace.pausedUntilMs(nowMs)).toBe(nowMs + 1_000)
  })

  test.each([
    { random: 0, retryAfterMs: 7_000, durationMs: 7_000 },
    { random: 1, retryAfterMs: 7_000, durationMs: 8_400 },
    { random: 1, retryAfterMs: 24 * pauseMsMax, durationMs: pauseMsMax },
  ])('is never shorter than its Retry-After, up to the maximum: $durationMs', (given) => {
    const { random, retryAfterMs, durationMs } = given
    pace = new Pace({ random: () => random, pauseMsMax })
    refuse(retryAfterMs)
    expect(pace.pausedUntilMs(nowMs)).toBe(nowMs + durationMs)
    expect(pace.pausedUntilMs(nowMs + durationMs)).toBeUndefined()
  })

  test('does not last longer when the clock is set back', () => {
    refuse(7_000)
    expect(pace.pausedUntilMs(nowMs - 1_000_000)).toBe(nowMs - 1_000_000 + 7_000)
  })
})

describe('the rate', () => {
  beforeEach(() => {
    take(50)
    refuse()
    waitForPause()
  })

  test('spaces requests evenly, however long none started before', () => {
    nowMs += 60_000
    const startsMs = Array.from({ length: 10 }, () => {
      nowMs = Math.max(Math.ceil(pace.freeAtMs(nowMs)), nowMs)
      pace.start(nowMs)
      return nowMs
    })
    const gapsMs = startsMs.slice(1).map((atMs, index) => atMs - startsMs[index]!)
    for (const gapMs of gapsMs) expect([22, 23]).toContain(gapMs)
  })

  test('stays below the rate before the cut for nine seconds, and has nearly doubled after twelve', () => {
    expect([45, 46]).toContain(takeFor(1_000))
    takeFor(7_500)
    expect(pace.perSecond).toBeGreaterThan(48)
    expect(pace.perSecond).toBeLessThan(50)
    takeFor(3_500)
    expect(pace.perSecond).toBeGreaterThan(80)
    expect(pace.perSecond).toBeLessThan(100)
    takeFor(8_000)
    expect(pace.perSecond).toBe(Infinity)
  })

  test('does not change while nothing is accepted, however long', () => {
    const { perSecond } = pace
    nowMs += 24 * pauseMsMax
    for (let started = 0; started < 100; started++) pace.start((nowMs += 1_000))
    expect(pace.perSecond).toBe(perSecond)
  })

  test('grows slowly while it is not the limit', () => {
    take(5, 60)
    expect(pace.perSecond).toBeLessThan(50)
  })
})

describe('a limit', () => {
  test('spaces requests from the first one on, however long none started before', () => {
    pace.limit = 50
    expect(pace.perSecond).toBe(50)
    expect([500, 501]).toContain(takeFor(10_000))
    nowMs += 60_000
    expect([50, 51]).toContain(takeFor(1_000))
  })

  test('starts at most 20 ms worth of requests at once', () => {
    pace.limit = 1_000
    let together = 0
    while (pace.freeAtMs(nowMs) <= nowMs) together += Math.sign(pace.start(nowMs) + 1)
    expect(together).toBeLessThanOrEqual(21)
    expect([999, 1_000, 1_001]).toContain(takeFor(1_000))
  })

  test('applies until a lower rate is learnt, and again once that rate is higher', () => {
    pace.limit = 40
    takeFor(3_000)
    refuse()
    expect(pace.perSecond).toBeLessThan(40)
    expect(pace.isThrottled(nowMs)).toBe(true)
    waitForPause()
    takeFor(30_000)
    expect(pace.perSecond).toBe(40)
    expect(pace.isThrottled(nowMs)).toBe(false)
  })

  test('that is raised delays no start for longer than its new interval', () => {
    pace.limit = 1 / 3_600
    pace.start(nowMs)
    expect(pace.freeAtMs(nowMs)).toBeGreaterThanOrEqual(nowMs + 3_600_000 - 1)
    pace.limit = 10
    expect(pace.freeAtMs(nowMs)).toBe(nowMs + 100)
  })
})

test('whatever happens, the rate is positive, and no start is later than a pause or an interval', () => {
  const step = fc.oneof(
    fc.constant('start' as const),
    fc.record({ admitted: fc.nat(20) }),
    fc.record({ refused: fc.nat(20), retryAfterMs: fc.option(fc.nat(100 * pauseMsMax)) }),
    fc.record({ passedMs: fc.integer({ min: -100_000, max: 100_000 }) }),
  )
  const property = fc.property(fc.array(step, { size: 'max', maxLength: 200 }), (steps) => {
    const one = new Pace({ random: () => 0.5, pauseMsMax })
    const starts: number[] = []
    let atMs = startMs
    for (const each of steps) {
      if (each === 'start') starts.push(one.start(atMs))
      else if ('passedMs' in each) atMs += each.passedMs
      else {
        const pick = 'admitted' in each ? each.admitted : each.refused
        const [start] = starts.splice(pick % Math.max(starts.length, 1), 1)
        if (start === undefined) continue
        if ('admitted' in each) one.admitted(start, atMs)
        else one.refused(start, atMs, each.retryAfterMs ?? undefined)
      }
      expect(one.perSecond).toBeGreaterThanOrEqual(0.1)
      const farthestMs = Math.max(pauseMsMax, 1_000 / one.perSecond + 20)
      expect(one.freeAtMs(atMs)).toBeLessThanOrEqual(atMs + farthestMs)
    }
  })
  fc.assert(property)
})
