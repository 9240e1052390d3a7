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
  /** Those that come before the plans, in turn. */
  readonly next: readonly GivenAnswer[]
  /** The plans after them. */
  readonly plans: readonly PlanProgress[]
}

/** Decides the injected answers, one request after the other. */
export class Injections {
  readonly #settings: InjectionSettings
  readonly #random: () => number
  readonly #endpoints: number
  /** The answers that come before the plans, in turn. */
  readonly #next: GivenAnswer[] = []
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
  respondNext(answer: GivenAnswer): void {
    readPlans({ steps: [{ answer }] }, this.#endpoints)
    this.#next.push(answer)
  }

  /** The answers to come. */
  planned(): PlannedAnswers {
    return { next: [...this.#next], plans: this.#plans.progress }
  }

  /** How long the next answer waits, in milliseconds. */
  nextDelayMs(): number {
    return delayIn(this.#settings.delay, this.#random)
  }

  /**
   * The answer to a well-formed webhook. One that fails by chance takes no step of its plan: a plan says how
   * many answers of each kind are given.
   */
  nextAnswer(webhook: PlannedWebhook): GivenAnswer {
    const next = this.#next.shift()
    if (next !== undefined) return next
    const { failShare, failure } = this.#settings
    if (failShare > 0 && this.#random() < failShare) return failure
    return this.#plans.next(webhook) ?? 200
  }
}
