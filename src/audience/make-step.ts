import type { NewEvent } from '../delivery/index.ts'
import type { MembershipChange } from './audience.ts'
import type { PlannedStep, ReleaseResult, StepPlan, TakeResult } from './store-port.ts'

/**
 * Makes a step of a sync. The first call of `step` returns the changes to make. The second call stores the changes with
 * their events. If a user was suppressed or erased in between, the second call returns different changes, and a further
 * call stores these.
 *
 * @param eventsOf - makes one routed call for each change, in order
 */
export async function makeStep<Result extends TakeResult | ReleaseResult>(
  step: (plan: StepPlan) => Promise<Result | PlannedStep>,
  eventsOf: (changes: readonly MembershipChange[]) => readonly NewEvent[],
): Promise<Result> {
  let plan: StepPlan = { changes: [], events: [] }
  for (;;) {
    const result = await step(plan)
    if (result.kind !== 'planned') return result
    plan = { changes: result.changes, events: eventsOf(result.changes) }
  }
}
