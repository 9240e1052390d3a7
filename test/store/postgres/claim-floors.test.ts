import { describe, expect, test } from 'vitest'
import { ClaimFloors } from '../../../src/store/postgres/claim-floors.ts'

const lane = { destinationId: 'crm', lane: 'first' } as const

/** Makes floors after a claim that ended at 100. `wait` advances their clock. */
function passed() {
  let nowMs = 0
  const floors = new ClaimFloors(() => nowMs)
  floors.claimFrom(lane)
  floors.passed({ ...lane, dueAtMs: 100 })
  return { floors, wait: (durationMs: number) => (nowMs += durationMs) }
}

describe('a claim', () => {
  test('begins where the last claim of its lane ended', () => {
    const { floors } = passed()
    expect(floors.claimFrom(lane)).toBe(100)
    expect(floors.lookFrom(lane)).toBe(100)
    expect(floors.claimFrom({ ...lane, lane: 'retry' })).toBe(0)
    expect(floors.claimFrom({ ...lane, destinationId: 'mail' })).toBe(0)
  })

  test('begins at an earlier delivery that was added since, even if it was added during the last claim', () => {
    const { floors } = passed()
    floors.add({ ...lane, dueAtMs: 70 })
    floors.add({ ...lane, dueAtMs: 120 })
    expect(floors.claimFrom(lane)).toBe(70)
    floors.add({ ...lane, dueAtMs: 80 })
    floors.passed({ ...lane, dueAtMs: 110 })
    expect(floors.claimFrom(lane)).toBe(80)
    floors.passed({ ...lane, dueAtMs: 110 })
    expect(floors.claimFrom(lane)).toBe(110)
  })

  test('begins at 0 every five seconds, and after the floors are cleared', () => {
    const { floors, wait } = passed()
    wait(4_999)
    expect(floors.claimFrom(lane)).toBe(100)
    wait(1)
    expect(floors.claimFrom(lane)).toBe(0)
    floors.passed({ ...lane, dueAtMs: 100 })
    expect(floors.claimFrom(lane)).toBe(100)
    floors.clear()
    expect(floors.claimFrom(lane)).toBe(0)
  })
})
