import type { EventType } from '../../model/index.ts'
import type { GivenAnswer } from './fault.ts'

/** An answer, and how often it is given before the next one has its turn. */
export interface PlanStep {
  /** A status from 200 to 599, or a fault. */
  readonly answer: GivenAnswer
  /** From 1 to 1,000,000; default 1. */
  readonly times?: number | undefined
}

/** The answers that webhooks get in turn. The last one is given for ever. */
export interface AnswerPlan {
  /** The only type of webhooks that it is for. */
  readonly type?: EventType | undefined
  /** The only endpoint that it is for, from 1. */
  readonly endpoint?: number | undefined
  /** At least one. */
  readonly steps: readonly PlanStep[]
}

/** A plan in any form: a status for every webhook, a text such as `503x3,200`, or its parts. */
export type PlanInput = number | string | AnswerPlan

/** One plan, or several that are for different webhooks. */
export type PlansInput = PlanInput | readonly PlanInput[]

/** Writes a plan as the text that is read as the same plan. */
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

/** The most often that an answer can be asked for. */
export const timesMax = 1_000_000
