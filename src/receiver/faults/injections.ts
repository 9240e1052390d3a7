import { formatDuration } from '../../model/index.ts'
import { delayIn, type DelayRange } from './delay.ts'
import type { GivenAnswer } from './fault.ts'
import { AnswerPlans, type PlannedWebhook, type PlanProgress } from './answer-plans.ts'
import type { AnswerPlan, PlansInput } from './plan.ts'
import { readPlans } from './read-plans.ts'

/** The injections of a receiver, checked. */
export interface InjectionSettings {
  /** The answers in turn; none means 200. */
  readonly respond: readonly AnswerPlan[]
  /** How long answers wait. */
  readonly delay: DelayRange
  /** The share of webhooks that fail instead of having their turn, from 0 to 1. */
  readonly failShare: number
  /** How those fail. */
  readonly failure: GivenAnswer
}

/** The answers that webhooks will get. */
export interface PlannedAnswers {
  /** Those that come before the plans, in turn: a status, a fault, or a text such as `200 after 2s`. */
  readonly next: readonly (number | string)[]
  /** The plans after them. */
  readonly plans: readonly PlanProgress[]
}

/** The answer to a webhook. */
export interface NextAnswer {
  readonly answer: GivenAnswer
  /** How long it waits; undefined for as long as others do. */
  readonly delayMs?: number | undefined
}

/** Decides the injected answers, one request after the other. */
export class Injections {
  readonly #settings: InjectionSettings
  readonly #random: () => number
  readonly #endpoints: number
  /** The answers that come before the plans, in turn. */
  #next: readonly NextAnswer[] = []
  #plans: AnswerPlans

  /**
   * @param random - a number from 0 up to, but not including, 1
   * @param endpoints - how many endpoints the receiver has
   */
  constructor(settings: InjectionSettings, random: () => number, endpoints = 1) {
    this.#settings = settings
    this.#random = random
    this.#endpoints = endpoints
    this.#plans = new AnswerPlans(settings.respond)
  }

  /**
   * Follows other plans from now on, from their beginning.
   *
   * @throws SettingError `respond`, with the mistake and the accepted forms
   */
  respond(plans: PlansInput): void {
    this.#plans = new AnswerPlans(readPlans(plans, this.#endpoints))
  }

  /**
   * Gives a well-formed webhook this, before anything else; the plans go on after it.
   *
   * @throws SettingError `respond` for anything but a status from 200 to 599 or a fault
   */
  respondNext(next: NextAnswer): void {
    readPlans({ steps: [{ answer: next.answer }] }, this.#endpoints)
    this.#next = [...this.#next, next]
  }

  /** Drops the answers that come before the plans. */
  dropNext(): void {
    this.#next = []
  }

  /** The answers to come. */
  planned(): PlannedAnswers {
    const next = this.#next.map(({ answer, delayMs }) =>
      delayMs === undefined ? answer : `${answer} after ${formatDuration(delayMs)}`,
    )
    return { next, plans: this.#plans.progress }
  }

  /** How long the next answer waits, in milliseconds. */
  nextDelayMs(): number {
    return delayIn(this.#settings.delay, this.#random)
  }

  /**
   * The answer to a well-formed webhook. One that fails by chance takes no step of its plan: a plan says how
   * many answers of each kind are given.
   */
  nextAnswer(webhook: PlannedWebhook): NextAnswer {
    const [next, ...later] = this.#next
    this.#next = later
    if (next !== undefined) return next
    const { failShare, failure } = this.#settings
    if (failShare > 0 && this.#random() < failShare) return { answer: failure }
    return { answer: this.#plans.next(webhook) ?? 200 }
  }
}
