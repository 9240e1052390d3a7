import { describe, expect, test } from 'vitest'
import { ClaimPlaces } from '../../../src/store/postgres/claim-places.ts'

const lane = { destinationId: 'crm', lane: 'first' } as const

/** Places of claims that have come to the moment 100, with a clock that the test sets. */
function passed() {
  let nowMs = 0
  const places = new ClaimPlaces(() => nowMs)
  places.claimFrom(lane)
  places.passed({ ...lane, dueAtMs: 100 })
  return { places, wait: (durationMs: number) => (nowMs += durationMs) }
}

describe('a claim', () => {
  test('begins where the last one ended, each lane for itself', () => {
    const { places } = passed()
    expect(places.claimFrom(lane)).toBe(100)
    expect(places.lookFrom(lane)).toBe(100)
    expect(places.claimFrom({ ...lane, lane: 'retry' })).toBe(0)
    expect(places.claimFrom({ ...lane, destinationId: 'mail' })).toBe(0)
  })

  test('begins at what came below, be it while the last one was made', () => {
    const { places } = passed()
    places.add({ ...lane, dueAtMs: 70 })
    places.add({ ...lane, dueAtMs: 120 })
    expect(places.claimFrom(lane)).toBe(70)
    places.add({ ...lane, dueAtMs: 80 })
    places.passed({ ...lane, dueAtMs: 110 })
    expect(places.claimFrom(lane)).toBe(80)
    places.passed({ ...lane, dueAtMs: 110 })
    expect(places.claimFrom(lane)).toBe(110)
  })

  test('looks back every five seconds', () => {
    const { places, wait } = passed()
    wait(4_999)
    expect(places.claimFrom(lane)).toBe(100)
    wait(1)
    expect(places.claimFrom(lane)).toBe(0)
    expect(places.claimFrom(lane)).toBe(100)
    places.clear()
    expect(places.claimFrom(lane)).toBe(0)
  })
})
