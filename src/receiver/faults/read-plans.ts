import {
  caretExcerpt,
  eventTypes,
  isEventType,
  SettingError,
  shortText,
} from '../../model/index.ts'
import { answersInWords, isAnswer, readAnswerName } from './fault.ts'
import type { AnswerPlan, PlanInput, PlansInput, PlanStep } from './plan.ts'

const timesMax = 1_000_000

/** Reads plans in any form. Throws a SettingError `respond`, with the mistake and the accepted forms. */
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
    throw new SettingError(
      'respond',
      `Cannot plan answers for type ${shortText(String(type))}: it must be one of ${eventTypes.join(', ')}`,
    )
  }
  if (endpoint !== undefined && !isWholeNumber(endpoint, endpointCount)) {
    throw new SettingError(
      'respond',
      `Cannot plan answers for endpoint ${endpoint}: there ${endpointCount === 1 ? 'is only 1' : `are only ${endpointCount}`}`,
      'Endpoints are numbered from 1. The setting `endpoints` says how many there are.',
    )
  }
  if (steps.length === 0) {
    throw new SettingError('respond', 'Cannot use a plan without an answer', answersHint)
  }
  return Object.freeze({ ...plan, steps: Object.freeze(steps.map(checkStep)) })
}

const answersHint = `An answer can be ${answersInWords}.`

function checkStep({ answer, times }: PlanStep): PlanStep {
  if (!isAnswer(answer)) {
    const text = shortText(String(answer))
    throw new SettingError(
      'respond',
      `Cannot answer with ${text}: it is neither a status from 200 to 599 nor a fault`,
      answersHint,
    )
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

interface Part {
  readonly text: string
  readonly offset: number
}

type Draft = { -readonly [Key in keyof AnswerPlan]: AnswerPlan[Key] }

const charactersMax = 10_000

/**
 * Reads the text of a plan: answers, separated by commas. An answer is a status or a fault. With the suffix `x3`, it is
 * given three times. The prefixes `type=track:` and `endpoint=2:` limit the plan to webhooks of a type or an endpoint.
 * Throws a SettingError `respond`, with the position of the mistake and the accepted forms.
 */
export function parsePlan(text: string): AnswerPlan {
  if (text.length > charactersMax) {
    throw new SettingError('respond', `Cannot use a plan of more than ${charactersMax} characters`)
  }
  const plan: Draft = { steps: [] }
  let offset = 0
  for (const [whole, selector = ''] of text.matchAll(/([^,:]*):/gy)) {
    select(plan, { text: selector, offset }, text)
    offset += whole.length
  }
  plan.steps = split({ text: text.slice(offset), offset }).map((part) => stepOf(part, text))
  return plan
}

function select(plan: Draft, written: Part, text: string): void {
  const selector = trimmed(written)
  const [, key, value = ''] = /^(type|endpoint)=(.*)$/.exec(selector.text) ?? []
  if (key === undefined) {
    fail(text, selector, {
      problem: 'this does not say which webhooks the plan is for',
      advice: 'Write type=track:500 or endpoint=2:503.',
    })
  }
  if (plan[key as 'type' | 'endpoint'] !== undefined) {
    fail(text, selector, { problem: `this is the second ${key}`, advice: 'Give it only once.' })
  }
  const part = partFrom(selector, key.length + 1)
  if (key === 'type') {
    const advice = `It must be one of ${eventTypes.join(', ')}.`
    if (!isEventType(value)) fail(text, part, { problem: 'this is not a type of webhook', advice })
    plan.type = value
    return
  }
  const problem = 'no endpoint has this number'
  if (!/^[1-9]\d{0,3}$/.test(value))
    fail(text, part, { problem, advice: 'Endpoints count from 1.' })
  plan.endpoint = Number(value)
}

function stepOf(written: Part, text: string): PlanStep {
  const part = trimmed(written)
  const [, name = '', digits] = /^(.*?)(?:x(\d+))?$/s.exec(part.text) ?? []
  const answer = readAnswerName(name)
  if (answer === undefined) {
    const problem = name === '' ? 'an answer is missing' : 'this is not an answer'
    const advice = `An answer can be ${answersInWords}. Append x3 to repeat it three times.`
    return fail(text, { ...part, text: name }, { problem, advice })
  }
  if (digits === undefined) return { answer, times: 1 }
  const times = Number(digits)
  if (times >= 1 && times <= timesMax) return { answer, times }
  return fail(text, partFrom(part, name.length), {
    problem: 'an answer cannot be repeated this many times',
    advice: `Use x1 to x${timesMax}. The last answer repeats for ever anyway.`,
  })
}

function split({ text, offset }: Part): readonly Part[] {
  let next = offset
  return text.split(',').map((item) => {
    const part = { text: item, offset: next }
    next += item.length + 1
    return part
  })
}

function partFrom({ text, offset }: Part, start: number): Part {
  return { text: text.slice(start), offset: offset + start }
}

function trimmed({ text, offset }: Part): Part {
  return { text: text.trim(), offset: offset + text.length - text.trimStart().length }
}

function fail(
  text: string,
  { text: bad, offset }: Part,
  { problem, advice }: { readonly problem: string; readonly advice: string },
): never {
  const error = new SettingError(
    'respond',
    `Cannot read the plan at character ${offset + 1}: ${problem}`,
    `${advice}\n${caretExcerpt(text, { offset, length: bad.length })}`,
  )
  // Without this, the caller of the receiver would not be among the ten lines of the stack trace.
  Error.captureStackTrace(error, readPlans)
  throw error
}
