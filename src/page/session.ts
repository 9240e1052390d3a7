import { signal } from '@preact/signals'
import type { EventRecord, EventSummary } from '../receiver/index.ts'
import {
  checkFilter,
  follow,
  readEvent,
  resend,
  setNextAnswer,
  type MatchProblem,
  type RequestEdit,
} from './api.ts'
import { EventList } from './event-list.ts'

/** What is shown of the selected request. */
export type Detail =
  | { readonly kind: 'none' | 'loading' | 'gone' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'shown'; readonly record: EventRecord }

/** What an action did, and how to undo it. */
export interface Notice {
  readonly text: string
  readonly isProblem: boolean
  readonly undo?: () => void
}

/** What a person looks at: the list, its filter, the selected request; and what is done to them. */
export class Session {
  readonly list = new EventList()
  readonly filter = signal('')
  readonly filterProblem = signal<MatchProblem | undefined>(undefined)
  readonly onlyFailed = signal(false)
  readonly isPaused = signal(false)
  readonly connection = signal<'connecting' | 'open' | 'lost'>('connecting')
  readonly selected = signal<number | null>(null)
  readonly detail = signal<Detail>({ kind: 'none' })
  readonly notice = signal<Notice | undefined>(undefined)
  /** Requests up to this number were cleared. */
  #clearedSeq = 0
  #lastSeq = 0
  #run: string | undefined
  #endFollowing: () => void = () => undefined

  /** Follows the requests that match the filter. */
  follow(): void {
    this.#endFollowing()
    this.list.clear()
    this.#endFollowing = follow(this.filter.value, {
      reset: (run) => this.#reset(run),
      missed: (count) => this.list.missed(count),
      arrived: (summaries) => this.#arrived(summaries),
      connection: (state) => (this.connection.value = state),
    })
  }

  /** Filters, where the text can be read. */
  async setFilter(text: string): Promise<void> {
    const problem = await this.#tried(() => checkFilter(text))
    this.filterProblem.value = problem
    if (problem !== undefined || text === this.filter.value) return
    this.filter.value = text
    this.follow()
  }

  /** Shows new requests, or keeps them back. */
  togglePause(): void {
    this.isPaused.value = !this.isPaused.value
    this.list.pause(this.isPaused.value)
  }

  /** Empties the list; the receiver keeps what was in it. */
  clear(): void {
    const before = this.#clearedSeq
    this.#clearedSeq = this.#lastSeq
    this.list.clear()
    this.close()
    const undo = (): void => {
      this.#clearedSeq = before
      this.follow()
      this.notice.value = undefined
    }
    this.notice.value = { text: 'The list is cleared.', isProblem: false, undo }
  }

  /** Selects a request and reads the whole of it. */
  async select(seq: number): Promise<void> {
    this.selected.value = seq
    if (this.detail.value.kind !== 'shown') this.detail.value = { kind: 'loading' }
    const detail = await readDetail(seq)
    // Another one may have been selected meanwhile.
    if (this.selected.value === seq) this.detail.value = detail
  }

  /** Selects a neighbour in the list: 1 is the next newer one, -1 the next older one. */
  selectNeighbour(step: 1 | -1): void {
    const rows = this.list.rows(this.onlyFailed.value)
    const index = rows.findIndex(({ seq }) => seq === this.selected.value)
    const next = index === -1 ? rows.at(-1) : rows[index + step]
    if (next !== undefined) void this.select(next.seq)
  }

  /** Shows no request. */
  close(): void {
    this.selected.value = null
    this.detail.value = { kind: 'none' }
  }

  /** Sends a request to the receiver again. */
  async resend(seq: number, edit?: RequestEdit): Promise<void> {
    const resent = await this.#tried(() => resend(seq, edit))
    if (resent === undefined) return
    const { status, error } = resent
    const how = edit === undefined ? 'as it was' : 'edited'
    const end = status === null ? (error ?? 'it got no answer') : `the answer is ${status}`
    this.notice.value = { text: `Resent #${seq} ${how}: ${end}.`, isProblem: status === null }
  }

  /** Gives the next webhook this status, or this fault. */
  async setNextAnswer(answer: number | string): Promise<void> {
    const tried = await this.#tried(() => setNextAnswer(answer).then(() => true))
    if (tried === undefined) return
    const undo = (): void => void this.setNextAnswer(200)
    const text = `The next webhook gets ${answer}.`
    this.notice.value =
      answer === 200 ? { text, isProblem: false } : { text, isProblem: false, undo }
  }

  /** Says what was done. */
  tell(text: string): void {
    this.notice.value = { text, isProblem: false }
  }

  #reset(run: string): void {
    this.list.clear()
    if (run === this.#run) return
    // Its numbers begin with 1 again.
    if (this.#run !== undefined) this.close()
    this.#run = run
    this.#clearedSeq = this.#lastSeq = 0
  }

  #arrived(summaries: readonly EventSummary[]): void {
    const shown = summaries.filter(({ seq }) => seq > this.#clearedSeq)
    this.#lastSeq = Math.max(this.#lastSeq, summaries.at(-1)?.seq ?? 0)
    if (shown.length > 0) this.list.add(shown)
  }

  async #tried<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await work()
    } catch (error) {
      this.notice.value = { text: messageOf(error), isProblem: true }
      return undefined
    }
  }
}

async function readDetail(seq: number): Promise<Detail> {
  try {
    const record = await readEvent(seq)
    return record === undefined ? { kind: 'gone' } : { kind: 'shown', record }
  } catch (error) {
    return { kind: 'failed', message: messageOf(error) }
  }
}

function messageOf(error: unknown): string {
  // A browser says of a server that is gone no more than that.
  if (error instanceof TypeError) return 'The receiver does not answer. Is it still running?'
  return error instanceof Error ? error.message : String(error)
}
