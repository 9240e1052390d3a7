import { isEventType, SettingError, shortText } from '../../model/index.ts'
import { answersInWords, isAnswer } from './fault.ts'
import { parsePlan } from './parse-plan.ts'
import {
  timesMax,
  type AnswerPlan,
  type PlanInput,
  type PlansInput,
  type PlanStep,
} from './plan.ts'

/**
 * Reads plans in any form.
 *
 * @throws SettingError `respond`, with the mistake and the accepted forms
 */
export function readPlans(input: PlansInput, endpointCount: number): readonly AnswerPlan[] {
  const plans = [input].flat().map((each) => checkPlan(planOf(each), endpointCount))
  for (const [index, plan] of plans.entries()) {
    if (plans.findIndex((other) => isForSame(plan, other)) === index) continue
    throw new SettingError(
      'respond',
      `Cannot use two plans for ${audienceOf(plan)}`,
      'Put their answers into one plan, separated by commas.',
    )
  }
  return plans
}

function planOf(input: PlanInput): AnswerPlan {
  if (typeof input === 'string') return parsePlan(input)
  return typeof input === 'number' ? { steps: [{ answer: input }] } : input
}

function checkPlan(plan: AnswerPlan, endpointCount: number): AnswerPlan {
  const { type, endpoint, steps } = plan
  if (type !== undefined && !isEventType(type)) {
    throw new SettingError('respond', `Cannot plan answers for the type ${shortText(String(type))}`)
  }
  if (endpoint !== undefined && !isWholeNumber(endpoint, endpointCount)) {
    throw new SettingError(
      'respond',
      `Cannot plan answers of endpoint ${endpoint}: there ${endpointCount === 1 ? 'is only 1' : `are only ${endpointCount}`}`,
      'Endpoints are numbered from 1. The setting `endpoints` says how many there are.',
    )
  }
  if (steps.length === 0) {
    throw new SettingError('respond', 'Cannot use a plan without an answer', answersHint)
  }
  return Object.freeze({ ...plan, steps: Object.freeze(steps.map(checkStep)) })
}

const answersHint = `An answer is ${answersInWords}.`

function checkStep({ answer, times }: PlanStep): PlanStep {
  if (!isAnswer(answer)) {
    const text = shortText(String(answer))
    throw new SettingError('respond', `Cannot answer ${text}: it is not an answer`, answersHint)
  }
  if (times !== undefined && !isWholeNumber(times, timesMax)) {
    throw new SettingError(
      'respond',
      `Cannot give an answer ${times} times: the count must be a whole number from 1 to ${timesMax}`,
    )
  }
  return Object.freeze({ answer, times: times ?? 1 })
}

function isForSame(plan: AnswerPlan, other: AnswerPlan): boolean {
  return plan.type === other.type && plan.endpoint === other.endpoint
}

function audienceOf({ type, endpoint }: AnswerPlan): string {
  const parts = [
    type === undefined ? undefined : `type ${type}`,
    endpoint === undefined ? undefined : `endpoint ${endpoint}`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? 'every webhook' : parts.join(' and ')
}

function isWholeNumber(value: number, highest: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= highest
}
