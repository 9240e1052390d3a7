import type { EventType } from '../../model/index.ts'
import type { GivenAnswer } from './fault.ts'

/** An answer, and how many times to give it. */
export interface PlanStep {
  /** A status from 200 to 599, or a fault. */
  readonly answer: GivenAnswer
  /** How many times to give the answer before moving on to the next, from 1 to 1,000,000; default 1. */
  readonly times?: number | undefined
}

/** The answers to webhooks, in order. The last one repeats for ever. */
export interface AnswerPlan {
  /** The type of webhooks that the plan is for; any if absent. */
  readonly type?: EventType | undefined
  /** The number of the endpoint that the plan is for, counting from 1; any if absent. */
  readonly endpoint?: number | undefined
  /** The answers; at least one. */
  readonly steps: readonly PlanStep[]
}

/** A plan in any form: a status for every webhook, a text such as `503x3,200`, or an object. */
export type PlanInput = number | string | AnswerPlan

/** One plan, or several for different webhooks. */
export type PlansInput = PlanInput | readonly PlanInput[]

/** Writes a plan as text, so that parsing it gives the same plan. */
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

/** Maximum number of times that a plan can give an answer before moving on to the next. */
export const timesMax = 1_000_000
