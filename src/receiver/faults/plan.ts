import type { EventType } from '../../model/index.ts'
import type { GivenAnswer } from './fault.ts'

/** An answer, and how many times to give it. */
export interface PlanStep {
  readonly answer: GivenAnswer
  /** How many times to give the answer before moving on to the next, from 1 to 1,000,000; default 1. */
  readonly times?: number | undefined
}

/** The answers to webhooks, in order. The last one repeats for ever. */
export interface AnswerPlan {
  /** The type of webhook that the plan is for; by default all types. */
  readonly type?: EventType | undefined
  /** The number of the endpoint that the plan is for, counting from 1; by default all endpoints. */
  readonly endpoint?: number | undefined
  /** The answers; at least one. */
  readonly steps: readonly PlanStep[]
}

/** A plan in any form: a status for every webhook, a text such as `503x3,200`, or an object. */
export type PlanInput = number | string | AnswerPlan

/** One plan, or several for different webhooks. */
export type PlansInput = PlanInput | readonly PlanInput[]

/** Writes a plan as a text that parses to the same plan. */
export function planText({ type, endpoint, steps }: AnswerPlan): string {
  const selectors = [
    type === undefined ? '' : `type=${type}:`,
    endpoint === undefined ? '' : `endpoint=${endpoint}:`,
  ]
  const answers = steps.map(({ answer, times = 1 }) =>
    times === 1 ? answer : `${answer}x${times}`,
  )
  return `${selectors.join('')}${answers.join(',')}`
}

/** The facts about a webhook that select its plan. */
export interface PlannedWebhook {
  readonly type: EventType
  /** The number of the endpoint that received the webhook, counting from 1. */
  readonly endpoint: number
}

/** Plans, and how many answers each has given. */
export class AnswerPlans {
  readonly #plans: readonly AnswerPlan[]
  readonly #given = new Map<AnswerPlan, number>()

  /** @param plans - validated plans, each for different webhooks */
  constructor(plans: readonly AnswerPlan[]) {
    this.#plans = plans
  }

  get progress() {
    return this.#plans.map((plan) => ({ plan: planText(plan), given: this.#given.get(plan) ?? 0 }))
  }

  next(webhook: PlannedWebhook): GivenAnswer | undefined {
    const plan = planFor(this.#plans, webhook)
    if (plan === undefined) return undefined
    const given = this.#given.get(plan) ?? 0
    this.#given.set(plan, given + 1)
    return answerAt(plan, given)
  }
}

/** Returns the plan for a webhook. A plan for its type wins over one for its endpoint, and both over a general one. */
export function planFor(
  plans: readonly AnswerPlan[],
  { type, endpoint }: PlannedWebhook,
): AnswerPlan | undefined {
  const applying = plans.filter(
    (plan) => (plan.type ?? type) === type && (plan.endpoint ?? endpoint) === endpoint,
  )
  return applying.toSorted((one, other) => closeness(other) - closeness(one))[0]
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
