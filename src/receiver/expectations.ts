import { once } from 'node:events'
import {
  expectationOf,
  ExpectationTracker,
  matchOf,
  parseExpectation,
  shortfallText,
  type CountRange,
  type Expectation,
  type ExpectationResult,
  type ExpectedBody,
} from '../match/index.ts'
import { checkOptionNames, checkWholeNumber, EvrouteError, SettingError } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'
import type { EventLog } from './event-log.ts'
import type { ReceivedEvent } from './received-event.ts'
import type { Waits } from './waits.ts'

/** Options for waiting until an expectation is met. */
export interface ExpectOptions {
  /** How long to wait; by default the expectation's `within`, or else 4 s. With Infinity, only `within` counts. */
  readonly timeoutMs?: number | undefined
  /** Counts only events with a higher `seq`; default 0, all since the start. */
  readonly after?: number | undefined
  /**
   * The expected count: a number for exactly that many, or a range. A range without `atMost` has no maximum. The
   * default is at least one. Only for an expectation that is an object, because a text contains its count.
   */
  readonly count?:
    number | (Pick<CountRange, 'atLeast'> & Partial<Pick<CountRange, 'atMost'>>) | undefined
  /** Ends the wait early when it aborts. The events so far then decide the expectation. */
  readonly signal?: AbortSignal | undefined
}

/** Thrown for an unmet expectation: `code` is `expectation_unmet`. */
export class ExpectationError extends EvrouteError {
  override readonly name: string = 'ExpectationError'
  /** The counts, and the request that best shows why the expectation was not met. */
  readonly result: ExpectationResult<ReceivedEvent>

  constructor(result: ExpectationResult<ReceivedEvent>, isReceiverClosed = false) {
    const { text, account, shortfall } = result
    const end = isReceiverClosed ? ' before the receiver was closed' : ''
    const explanation = shortfall === undefined ? '' : `\n${shortfallText(shortfall)}`
    super({ code: 'expectation_unmet', message: `${text}: ${account}${end}${explanation}` })
    this.result = result
  }
}

/** Whether an expectation was met, and the events that it counted. */
export interface JudgedExpectation {
  readonly result: ExpectationResult<ReceivedEvent>
  /** The counted events that are still kept, oldest first. */
  readonly events: readonly ReceivedEvent[]
}

/** An expectation as the API and the page list it. */
export type ShownExpectation = Expectations['shown'][number]

interface Shown {
  readonly id: number
  readonly tracker: ExpectationTracker<ReceivedEvent>
  /** Whether the expectation was met; `open` while it is undecided. */
  state: 'open' | 'met' | 'unmet'
}

/** Shorter than the 5 s timeout of vitest and jest, which would hide the expectation's error. */
const timeoutMsDefault = 4_000
/** Maximum number of listed expectations. The oldest are dropped. */
const shownMax = 100
/** The longest delay that `setTimeout` supports. */
const timeoutMsMax = 2 ** 31 - 1

/** Checks expectations against the events of a log. Lists the newest 100 expectations. */
export class Expectations {
  readonly #log: EventLog
  readonly #waits: Waits
  readonly #clock: Clock
  readonly #shown: Shown[] = []
  /** Controllers that end the open expectations of {@link watch}, by id. */
  readonly #watched = new Map<number, AbortController>()
  #lastId = 0

  constructor(log: EventLog, waits: Waits, clock: Clock) {
    this.#log = log
    this.#waits = waits
    this.#clock = clock
  }

  /**
   * Resolves as soon as the expectation is decided. If its time is up first, waits for the requests that arrived in
   * time and are not in the log yet. Throws a MatchError for an invalid text, SettingError for an invalid option,
   * EvrouteError `expectation_unmet` if some of the events to count are no longer kept.
   */
  async judge(
    expected: string | ExpectedBody,
    options: ExpectOptions = {},
  ): Promise<JudgedExpectation> {
    checkOptionNames(options, { timeoutMs: true, after: true, count: true, signal: true })
    const { after = 0, signal } = options
    const expectation = expectationFrom(expected, options)
    const timeoutMs = options.timeoutMs ?? expectation.withinMs ?? timeoutMsDefault
    checkWholeNumber('after', after, [0, Number.MAX_SAFE_INTEGER])
    if (timeoutMs !== Infinity) checkWholeNumber('timeoutMs', timeoutMs, [0, timeoutMsMax])
    const dropped = this.#log.counts.received - this.#log.events.length
    const isAllKept = dropped <= after
    // Dropped events cannot be counted, so a maximum cannot be checked.
    if (!isAllKept && expectation.count.atMost < Infinity) throw notKept(expectation, dropped)
    const tracker = new ExpectationTracker<ReceivedEvent>(expectation, this.#clock.nowMs())
    const shown = this.#show(tracker)
    const judged = await this.#decided({ tracker, after, timeoutMs, signal })
    shown.state = judged.result.state
    // The dropped events might have met the expectation.
    if (!isAllKept && judged.result.state === 'unmet') throw notKept(expectation, dropped)
    return judged
  }

  get shown() {
    return this.#shown.map(({ id, tracker, state }) => {
      const { expectation, account } = tracker
      return { id, text: expectation.text, state, account }
    })
  }

  /**
   * Adds an expectation to the list without waiting for it, and returns its number. It counts events from now on, until
   * it is decided or forgotten. Throws a MatchError for an invalid text, SettingError if 100 are open.
   */
  watch(text: string): number {
    parseExpectation(text)
    if (this.#watched.size >= shownMax) {
      throw new SettingError(
        'expect',
        `Cannot add an expectation: ${shownMax} are already open`,
        'Remove one first.',
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

  /** Removes an expectation from the list, and ends it if {@link watch} began it. Returns false for an unknown id. */
  forget(id: number): boolean {
    const index = this.#shown.findIndex((each) => each.id === id)
    if (index === -1) return false
    this.#shown.splice(index, 1)
    this.#watched.get(id)?.abort()
    return true
  }

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
    const endMs = Math.min(deadlineMs, this.#clock.nowMs() + timeoutMs)
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
      // Pass the deadline, not the current time: requests that arrived in time may still be delayed or forwarded.
      if (tracker.stateAt(deadlineMs) !== 'decided') return
      // More events can arrive before the caller continues. Don't count them.
      judged = this.#judged(tracker, (each) => each.seq > after && each.seq <= event.seq)
      end()
    }
    this.#log.events.forEach(observe)
    const endListening = this.#log.listen(observe)
    signal?.addEventListener('abort', end)
    if (signal?.aborted === true) end()
    const limitMs = Math.min(tracker.expectation.withinMs ?? Infinity, timeoutMs)
    await this.#waits.endOf(wait, limitMs === Infinity ? undefined : limitMs)
    isTimeOver = !wait.signal.aborted
    if (!decided.signal.aborted) {
      // Requests that arrived in time count, so wait until they are logged. Closing the receiver ends this wait.
      const logged = this.#log.arrivals.loggedUntil(endMs)
      await Promise.race([logged, once(decided.signal, 'abort')])
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
    return { result: tracker.result(), events }
  }
}

interface Judgement {
  readonly tracker: ExpectationTracker<ReceivedEvent>
  readonly after: number
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

function notKept({ text }: Expectation, dropped: number): EvrouteError {
  return new EvrouteError({
    code: 'expectation_unmet',
    message: `Cannot count ${text}: the first ${dropped === 1 ? 'request is' : `${dropped} requests are`} no longer kept`,
    hint: 'Pass `after` to count only later events, start waiting earlier, or raise `eventsMax`.',
  })
}

function expectationFrom(
  expected: string | ExpectedBody,
  { count }: Pick<ExpectOptions, 'count'>,
): Expectation {
  if (typeof expected !== 'string') return expectationOf(matchOf(expected), countRange(count))
  if (count === undefined) return parseExpectation(expected)
  throw new SettingError(
    'count',
    'Cannot use "count" with an expectation that is a string',
    'Write the count after the match: x3, x1..5 or never.',
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
