import type { Clock, Timer } from '../runtime/index.ts'
import type { EncodedCall, WaitingBatch } from './batch.ts'

/** Milliseconds from one batch to the next, as long as that has room: a hundred requests a second do. */
export const gapMs = 10

/** An endpoint that answers later, or never, holds nobody back any longer. */
export const answerWaitMsMax = 1_000

/** How many batches may be under way, and when. */
export interface LineOptions {
  /** Batches that are under way at the same time, at least 1. */
  readonly inFlightMax: number
  /** Whether a batch that has room waits for the answer to the one before it. */
  readonly holdsBack: boolean
  /** Of the waits. */
  readonly clock: Clock
}

/** What the line is to know of a batch that is under way. */
export interface Turn {
  /** It was tried, and will be tried again. */
  retry(): void
  /** Nothing more is done for it; once. */
  end(): void
}

/** A batch in line. */
interface Waiting {
  readonly batch: WaitingBatch
  readonly start: (turn: Turn) => void
}

/**
 * Lets batches go in the order in which they came. The last in line takes in those that come after it
 * until it is full, or until the one before was answered, {@link gapMs} after that went at the earliest and
 * {@link answerWaitMsMax} at the latest: who records much makes few large requests instead of many small
 * ones. A batch that has to be tried again keeps its place, and holds nobody back.
 */
export class Line {
  readonly #options: LineOptions
  readonly #waiting: Waiting[] = []
  #inFlight = 0
  /** Those under way that are tried for the first time. */
  #unanswered = 0
  #lastStartMs = Number.NEGATIVE_INFINITY
  #holdEnd: Timer | undefined
  #isHurried = false

  constructor(options: LineOptions) {
    this.#options = options
  }

  /** Adds calls to the last in line; false when there is none, or no room in it: nothing has changed then. */
  join(calls: readonly EncodedCall[]): boolean {
    if (this.#waiting.at(-1)?.batch.join(calls) !== true) return false
    this.#startWhatMay()
    return true
  }

  /** Resolves when it is the batch's turn: from then on it stays as it is. */
  turnOf(batch: WaitingBatch): Promise<Turn> {
    return new Promise((start) => {
      this.#waiting.push({ batch, start })
      this.#startWhatMay()
    })
  }

  /**
   * Lets what is in line now go as soon as there is a place: who waits for the end has no use for larger
   * batches, and an endpoint that does not answer must not keep the rest from being tried before that.
   */
  hurry(): void {
    this.#isHurried = true
    this.#startWhatMay()
  }

  #startWhatMay(): void {
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      if (!this.#mayStart(first)) return
      this.#waiting.shift()
      this.#inFlight++
      this.#unanswered++
      this.#lastStartMs = this.#options.clock.nowMs()
      first.start(this.#turn())
    }
    this.#isHurried = false
    this.#endHold()
  }

  #mayStart({ batch }: Waiting): boolean {
    const { inFlightMax, holdsBack } = this.#options
    if (this.#inFlight >= inFlightMax) return false
    const hasRoom = this.#waiting.length === 1 && !batch.isFull
    return !holdsBack || !hasRoom || this.#isHurried || this.#isHoldOver()
  }

  #isHoldOver(): boolean {
    const { clock } = this.#options
    const holdMs = this.#unanswered === 0 ? gapMs : answerWaitMsMax
    const sinceMs = clock.nowMs() - this.#lastStartMs
    // A clock that was set back says nothing.
    if (sinceMs >= holdMs || sinceMs < 0) return true
    this.#holdEnd ??= clock.schedule(holdMs - sinceMs, () => {
      this.#holdEnd = undefined
      this.#startWhatMay()
    })
    return false
  }

  #endHold(): void {
    this.#holdEnd?.cancel()
    this.#holdEnd = undefined
  }

  #turn(): Turn {
    let isUnanswered = true
    const answered = (): void => {
      if (isUnanswered) this.#unanswered--
      isUnanswered = false
      // What is left of it is the gap.
      this.#endHold()
    }
    return {
      retry: () => {
        answered()
        this.#startWhatMay()
      },
      end: () => {
        answered()
        this.#inFlight--
        this.#startWhatMay()
      },
    }
  }
}
