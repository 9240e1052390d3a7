import type { EventType } from '../../model/index.ts'
import type { GivenAnswer } from './fault.ts'
import { planText, type AnswerPlan } from './plan.ts'

/** What plans tell webhooks apart by. */
export interface PlannedWebhook {
  /** The kind of step. */
  readonly type: EventType
  /** Which endpoint it came to, from 1. */
  readonly endpoint: number
}

/** A plan that is under way. */
export interface PlanProgress {
  /** The plan as a text, such as `type=track:503x3,200`. */
  readonly plan: string
  /** The answers that it has given. */
  readonly given: number
}

/** Plans that are under way: each knows how many answers it has given. */
export class AnswerPlans {
  readonly #plans: readonly AnswerPlan[]
  readonly #given = new Map<AnswerPlan, number>()

  /** @param plans - checked, and no two for the same webhooks */
  constructor(plans: readonly AnswerPlan[]) {
    this.#plans = plans
  }

  /** The plans, and how many answers each has given. */
  get progress(): readonly PlanProgress[] {
    return this.#plans.map((plan) => ({ plan: planText(plan), given: this.#given.get(plan) ?? 0 }))
  }

  /** Takes the next answer for a webhook; undefined where no plan is for it. */
  next(webhook: PlannedWebhook): GivenAnswer | undefined {
    const plan = planFor(this.#plans, webhook)
    if (plan === undefined) return undefined
    const given = this.#given.get(plan) ?? 0
    this.#given.set(plan, given + 1)
    return answerAt(plan, given)
  }
}

/** The plan that is most closely for a webhook: by type and endpoint, by type, by endpoint, for all. */
export function planFor(
  plans: readonly AnswerPlan[],
  { type, endpoint }: PlannedWebhook,
): AnswerPlan | undefined {
  let closest: AnswerPlan | undefined
  for (const plan of plans) {
    if (plan.type !== undefined && plan.type !== type) continue
    if (plan.endpoint !== undefined && plan.endpoint !== endpoint) continue
    if (closest === undefined || closeness(plan) > closeness(closest)) closest = plan
  }
  return closest
}

function closeness({ type, endpoint }: AnswerPlan): number {
  return (type === undefined ? 0 : 2) + (endpoint === undefined ? 0 : 1)
}

/** The answer of a plan that has given some; the last one for ever. */
export function answerAt({ steps }: AnswerPlan, given: number): GivenAnswer | undefined {
  let passed = 0
  for (const { answer, times = 1 } of steps) {
    passed += times
    if (given < passed) return answer
  }
  return steps.at(-1)?.answer
}
