import { formatDuration, SettingError } from '../../model/index.ts'
import type { ReceiverSettings } from '../settings.ts'
import type { GivenAnswer } from './fault.ts'
import { AnswerPlans, type PlannedWebhook, type PlansInput } from './plan.ts'
import { readPlans } from './read-plans.ts'

/** The answers that webhooks will get. */
export type PlannedAnswers = ReturnType<Injections['planned']>

/** An answer to a webhook, perhaps with a delay of its own. */
export interface NextAnswer {
  readonly answer: GivenAnswer
  /** The delay of the answer; by default the receiver's. */
  readonly delayMs?: number | undefined
}

/** Maximum number of answers queued ahead of the plans. */
const nextMax = 10_000

/** Decides which answers and delays to inject. */
export class Injections {
  readonly #settings: ReceiverSettings['injections']
  readonly #random: () => number
  readonly #endpoints: number
  #next: NextAnswer[] = []
  #plans: AnswerPlans

  /** @param random - returns a number from 0 up to, but not including, 1 */
  constructor(settings: ReceiverSettings['injections'], random: () => number, endpoints = 1) {
    this.#settings = settings
    this.#random = random
    this.#endpoints = endpoints
    this.#plans = new AnswerPlans(settings.respond)
  }

  /** Replaces the plans. The new ones begin at their first answer. Throws a SettingError `respond`. */
  respond(plans: PlansInput): void {
    this.#plans = new AnswerPlans(readPlans(plans, this.#endpoints))
  }

  /** Queues an answer for one well-formed webhook, ahead of the plans. Throws a SettingError `respond`. */
  respondNext(next: NextAnswer): void {
    readPlans({ steps: [{ answer: next.answer }] }, this.#endpoints)
    if (this.#next.length === nextMax) {
      throw new SettingError(
        'respond',
        `Cannot queue more than ${nextMax} answers`,
        'Use a plan, in which an answer can repeat.',
      )
    }
    this.#next.push(next)
  }

  dropNext(): void {
    this.#next = []
  }

  /** The answers queued ahead of the plans, and how many answers each plan has given. */
  planned() {
    const next = this.#next.map(({ answer, delayMs }) =>
      delayMs === undefined ? answer : `${answer} after ${formatDuration(delayMs)}`,
    )
    return { next, plans: this.#plans.progress }
  }

  nextDelayMs(): number {
    const { fromMs, toMs } = this.#settings.delay
    return fromMs === toMs ? fromMs : fromMs + Math.floor(this.#random() * (toMs - fromMs + 1))
  }

  /** Returns the answer to a well-formed webhook. A random failure doesn't advance the plan. */
  nextAnswer(webhook: PlannedWebhook): NextAnswer {
    const next = this.#next.shift()
    if (next !== undefined) return next
    const { failShare, failure } = this.#settings
    if (failShare > 0 && this.#random() < failShare) return { answer: failure }
    return { answer: this.#plans.next(webhook) ?? 200 }
  }
}
