import { expect, test } from 'vitest'
import { RecentLosses } from '../../src/admin-api/metrics/recent-losses.ts'
import { countSurvivors } from '../support/collect-garbage.ts'

const hourMs = 60 * 60_000

/** Counts losses of three destinations. Returns references to what is kept about the first two. */
function countThenWait(losses: RecentLosses, clock: { at: number }): readonly WeakRef<object>[] {
  const kept = ['removed', 'renamed'].map((id) => {
    losses.count(id, 'timeout', 1)
    return new WeakRef<object>(losses.of(id)!)
  })
  clock.at = hourMs
  losses.count('crm', 'status_503', 1)
  return kept
}

test('losses are forgotten an hour after the last one, even if nothing asks for them again', async () => {
  const clock = { at: 0 }
  const losses = new RecentLosses({ nowMs: () => clock.at })
  const kept = countThenWait(losses, clock)
  expect(await countSurvivors(kept)).toBe(0)
  expect(losses.of('crm')).toMatchObject({ deliveries: 1 })
})
