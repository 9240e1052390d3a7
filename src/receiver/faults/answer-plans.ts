import type { EventType } from '../../model/index.ts'
import type { GivenAnswer } from './fault.ts'
import { planText, type AnswerPlan } from './plan.ts'

/** The facts about a webhook that select its plan. */
export interface PlannedWebhook {
  /** The type of the webhook. */
  readonly type: EventType
  /** The number of the endpoint that received the webhook, counting from 1. */
  readonly endpoint: number
}

/** The progress of a plan. */
export interface PlanProgress {
  /** The plan as text, such as `type=track:503x3,200`. */
  readonly plan: string
  /** The number of answers that the plan has given. */
  readonly given: number
}

/** Plans, and how many answers each has given. */
export class AnswerPlans {
  readonly #plans: readonly AnswerPlan[]
  readonly #given = new Map<AnswerPlan, number>()

  /** @param plans - validated plans, each for different webhooks */
  constructor(plans: readonly AnswerPlan[]) {
    this.#plans = plans
  }

  /** The plans, and how many answers each has given. */
  get progress(): readonly PlanProgress[] {
    return this.#plans.map((plan) => ({ plan: planText(plan), given: this.#given.get(plan) ?? 0 }))
  }

  /** Takes the next answer for a webhook; undefined if no plan applies to it. */
  next(webhook: PlannedWebhook): GivenAnswer | undefined {
    const plan = planFor(this.#plans, webhook)
    if (plan === undefined) return undefined
    const given = this.#given.get(plan) ?? 0
    this.#given.set(plan, given + 1)
    return answerAt(plan, given)
  }
}

/** Returns the most specific plan for a webhook: by type and endpoint, by type, by endpoint, or for all. */
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

/** Returns the answer that follows the first `given` answers of a plan. The last answer repeats for ever. */
export function answerAt({ steps }: AnswerPlan, given: number): GivenAnswer | undefined {
  let passed = 0
  for (const { answer, times = 1 } of steps) {
    passed += times
    if (given < passed) return answer
  }
  return steps.at(-1)?.answer
}
