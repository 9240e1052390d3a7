import type { NewEvent } from '../delivery/index.ts'
import type { MembershipChange } from './audience.ts'
import type { PlannedStep, ReleaseResult, StepPlan, TakeResult } from './store-port.ts'

/**
 * Makes a step of a sync. The store first returns the changes to make, then writes them together with their calls. If
 * the changes are different by then, because a user was suppressed or erased, the step starts over.
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
