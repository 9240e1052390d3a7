import { once } from 'node:events'
import {
  expectationOf,
  expectationResult,
  ExpectationTracker,
  matchOf,
  parseExpectation,
  type CountRange,
  type Expectation,
  type ExpectationResult,
  type ExpectedBody,
} from '../match/index.ts'
import { checkWholeNumber, EvrouteError, SettingError } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'
import type { EventLog } from './event-log.ts'
import type { ReceivedEvent } from './received-event.ts'
import type { Waits } from './waits.ts'

/** The count that an expectation needs, and the time it has. */
export interface ExpectOptions {
  /**
   * How long to wait, in milliseconds; Infinity for no limit but that of `within`. By default the time of
   * `within`, else 5 s.
   */
  readonly timeoutMs?: number | undefined
  /** Counts events with a higher `seq` only; default 0, all since the start. */
  readonly after?: number | undefined
  /**
   * The count that an object expects: an exact number, 0 for none; or a range, without an upper limit if
   * `atMost` is left out. By default at least one. A text has its own count.
   */
  readonly count?:
    number | (Pick<CountRange, 'atLeast'> & Partial<Pick<CountRange, 'atMost'>>) | undefined
  /** Ends the wait early: the expectation is then judged as it stands. */
  readonly signal?: AbortSignal | undefined
}

/** An expectation that was judged. */
export interface JudgedExpectation {
  /** What became of it. */
  readonly result: ExpectationResult<ReceivedEvent>
  /** The events that were counted, oldest first, as far as they are still kept. */
  readonly events: readonly ReceivedEvent[]
}

/** How an expectation stands. */
export interface ShownExpectation {
  /** Its number, from 1. */
  readonly id: number
  /** The expectation in the language. */
  readonly text: string
  /** Whether it can still change. */
  readonly state: 'open' | 'met' | 'unmet'
  /** The expected and the actual count: `expected exactly 3, got 2`. */
  readonly account: string
}

/** An expectation that is shown, and whatever decides it. */
interface Shown {
  readonly id: number
  readonly tracker: ExpectationTracker<ReceivedEvent>
  state: ShownExpectation['state']
}

const timeoutMsDefault = 5_000
/** Expectations that are shown; beyond these the oldest is shown no longer. */
const shownMax = 100
/** The longest wait of the system's clock. */
const timeoutMsMax = 2 ** 31 - 1

/** Waits until the events of a log meet expectations. */
export class Expectations {
  readonly #log: EventLog
  readonly #waits: Waits
  readonly #clock: Clock
  readonly #shown: Shown[] = []
  /** Ends the wait of each expectation that {@link watch} began. */
  readonly #watched = new Map<number, AbortController>()
  #lastId = 0

  constructor(log: EventLog, waits: Waits, clock: Clock) {
    this.#log = log
    this.#waits = waits
    this.#clock = clock
  }

  /**
   * Resolves as soon as the expectation is decided, or its time ends and all that arrived until then are
   * told; at the latest when the waits end.
   *
   * @throws MatchError where a text cannot be understood, SettingError where an option cannot be used,
   * EvrouteError `expectation_unmet` where the events to be counted are not all kept any more
   */
  async judge(
    expected: string | ExpectedBody,
    options: ExpectOptions = {},
  ): Promise<JudgedExpectation> {
    const { expectation, after, timeoutMs } = checkRequest(expected, options)
    const gone = this.#log.counts.received - this.#log.events.length
    const isAllKept = gone <= after
    // Events that are gone cannot be counted.
    if (!isAllKept && expectation.count.atMost < Infinity) throw notKept(expectation, gone)
    const tracker = new ExpectationTracker<ReceivedEvent>(expectation, this.#clock.nowMs())
    const shown = this.#show(tracker)
    const judged = await this.#decided({ tracker, after, timeoutMs, signal: options.signal })
    shown.state = judged.result.state
    // Enough may have come before.
    if (!isAllKept && judged.result.state === 'unmet') throw notKept(expectation, gone)
    return judged
  }

  /** The state of the newest 100 expectations, oldest first. */
  get shown(): readonly ShownExpectation[] {
    return this.#shown.map(({ id, tracker, state }) => {
      const { expectation, account } = tracker
      return { id, text: expectation.text, state, account }
    })
  }

  /**
   * Begins an expectation that is only shown. It counts events from now on, until it is decided or forgotten.
   *
   * @returns its number
   * @throws MatchError where it cannot be understood, SettingError where 100 are open
   */
  watch(text: string): number {
    parseExpectation(text)
    if (this.#watched.size >= shownMax) {
      throw new SettingError(
        'expect',
        `Cannot expect more: ${shownMax} expectations are open`,
        'Remove one.',
      )
    }
    const wait = new AbortController()
    const after = this.#log.counts.received
    const judging = this.judge(text, { after, timeoutMs: Infinity, signal: wait.signal })
    const id = this.#lastId
    this.#watched.set(id, wait)
    void judging.finally(() => this.#watched.delete(id))
    return id
  }

  /** Shows an expectation no longer, and ends it if {@link watch} began it; false where there is none. */
  forget(id: number): boolean {
    const index = this.#shown.findIndex((each) => each.id === id)
    if (index === -1) return false
    this.#shown.splice(index, 1)
    this.#watched.get(id)?.abort()
    return true
  }

  /** Shows an expectation from now on. */
  #show(tracker: ExpectationTracker<ReceivedEvent>): Shown {
    this.#lastId += 1
    const shown: Shown = { id: this.#lastId, tracker, state: 'open' }
    this.#shown.push(shown)
    const [oldest] = this.#shown
    if (this.#shown.length > shownMax && oldest !== undefined) this.forget(oldest.id)
    return shown
  }

  async #decided({ tracker, after, timeoutMs, signal }: Judgement): Promise<JudgedExpectation> {
    const { deadlineMs } = tracker
    const endMs = Math.min(deadlineMs, this.#clock.nowMs() + (timeoutMs ?? Infinity))
    const wait = this.#waits.begin()
    const decided = new AbortController()
    const end = (): void => {
      wait.abort()
      decided.abort()
    }
    let judged = undefined as JudgedExpectation | undefined
    let isTimeOver = false
    const observe = (event: ReceivedEvent): void => {
      if (judged !== undefined || event.seq <= after) return
      if (isTimeOver && event.atMs > endMs) return
      tracker.observe(event)
      // An event that arrived in time may be told later, so only the end of the wait decides about too few.
      if (tracker.stateAt(deadlineMs).kind === 'open') return
      // An event that arrives before the wait has ended for its caller no longer counts.
      judged = this.#judged(tracker, (each) => each.seq > after && each.seq <= event.seq)
      end()
    }
    this.#log.events.forEach(observe)
    const endListening = this.#log.listen(observe)
    signal?.addEventListener('abort', end)
    if (signal?.aborted === true) end()
    const withinMs = tracker.expectation.withinMs ?? Infinity
    const limitMs = Math.min(withinMs, timeoutMs ?? Infinity)
    await this.#waits.endOf(wait, limitMs === Infinity ? undefined : limitMs)
    isTimeOver = !wait.signal.aborted
    if (!decided.signal.aborted) {
      // Requests that arrived in time count. Closing the receiver ends them soon, so that this ends, too.
      const told = this.#log.arrivals.toldUntil(endMs)
      await Promise.race([told, once(decided.signal, 'abort')])
    }
    signal?.removeEventListener('abort', end)
    endListening()
    return (
      judged ??
      this.#judged(tracker, ({ seq, atMs }) => seq > after && !(isTimeOver && atMs > endMs))
    )
  }

  #judged(
    tracker: ExpectationTracker<ReceivedEvent>,
    isCounted: (event: ReceivedEvent) => boolean,
  ): JudgedExpectation {
    const { expectation, deadlineMs } = tracker
    const events = this.#log.events.filter(
      (event) => isCounted(event) && event.atMs <= deadlineMs && expectation.match.test(event),
    )
    return { result: expectationResult(tracker), events }
  }
}

/** An expectation that is being judged. */
interface Judgement {
  readonly tracker: ExpectationTracker<ReceivedEvent>
  readonly after: number
  readonly timeoutMs: number | undefined
  readonly signal: AbortSignal | undefined
}

function checkRequest(
  expected: string | ExpectedBody,
  options: ExpectOptions,
): Pick<Judgement, 'after' | 'timeoutMs'> & { readonly expectation: Expectation } {
  const expectation = expectationFrom(expected, options)
  const after = checkWholeNumber('after', options.after ?? 0, [0, Number.MAX_SAFE_INTEGER])
  const timeoutMs = waitMs(options.timeoutMs ?? expectation.withinMs ?? timeoutMsDefault)
  return { expectation, after, timeoutMs }
}

function notKept({ text }: Expectation, gone: number): EvrouteError {
  return new EvrouteError({
    code: 'expectation_unmet',
    message: `Cannot count for ${text}: the first ${gone} requests are not kept any more`,
    hint: 'Count those after a later one, ask before they arrive, or keep more of them.',
  })
}

/** Undefined for a wait without a limit. */
function waitMs(timeoutMs: number): number | undefined {
  return timeoutMs === Infinity
    ? undefined
    : checkWholeNumber('timeoutMs', timeoutMs, [0, timeoutMsMax])
}

function expectationFrom(
  expected: string | ExpectedBody,
  { count }: Pick<ExpectOptions, 'count'>,
): Expectation {
  if (typeof expected !== 'string') return expectationOf(matchOf(expected), countRange(count))
  if (count === undefined) return parseExpectation(expected)
  throw new SettingError(
    'count',
    'Cannot use count with an expectation in words',
    'Write it behind the match: x3, x1..5 or never.',
  )
}

function countRange(count: ExpectOptions['count']): CountRange | undefined {
  if (count === undefined) return undefined
  const { atLeast, atMost = Infinity } =
    typeof count === 'number' ? { atLeast: count, atMost: count } : count
  checkWholeNumber('count', atLeast, [0, Number.MAX_SAFE_INTEGER])
  if (atMost !== Infinity) checkWholeNumber('count', atMost, [atLeast, Number.MAX_SAFE_INTEGER])
  return { atLeast, atMost }
}
