import { signal } from '@preact/signals'
import type { EventRecord } from '../receiver/index.ts'
import * as api from './api.ts'
import type { MatchProblem } from './api.ts'
import { EventList } from './event-list.ts'
import { messageOf } from './http.ts'
import { notice, tell, tried } from './notice.tsx'

export type Detail =
  | { readonly kind: 'none' | 'loading' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'shown'; readonly record: EventRecord }

/** A capture that replaces the live requests in the list. */
export interface ShownCapture extends api.Capture {
  readonly file: File
}

/** Session storage key. The value is the run of the receiver, and the number of the newest cleared request. */
const clearedKey = 'cleared'

/** A filter is applied after this pause in typing. */
const typingPauseMs = 200

/** The state of the page: the list, its filter and the selected request. */
class Session {
  readonly list = new EventList()
  readonly filter = signal('')
  /** The text in the filter field. It may differ from the applied filter. */
  readonly filterText = signal('')
  /** Why the text in the filter field is not applied. "not shown": it is invalid or could not be checked. */
  readonly filterProblem = signal<MatchProblem | 'not shown' | undefined>(undefined)
  readonly onlyFailed = signal(false)
  readonly isPaused = signal(false)
  readonly connection = signal<'connecting' | 'open' | 'lost'>('connecting')
  /** Why the receiver does not let this page read its requests; undefined if it does. */
  readonly refusal = signal<string | undefined>(undefined)
  readonly receiver = signal<api.ReceiverFacts | undefined>(undefined)
  readonly selected = signal<number | null>(null)
  readonly detail = signal<Detail>({ kind: 'none' })
  /** The request to compare with the selected one; null while a person chooses it, undefined for no comparison. */
  readonly compared = signal<number | null | undefined>(undefined)
  readonly capture = signal<ShownCapture | undefined>(undefined)
  /** Increases with each action on the receiver, so that components read its state again. */
  readonly version = signal(0)
  /** True while a key moves the selection. Such a step replaces the entry in the history of the browser. */
  isStep = false
  /** Requests up to this number are not shown. */
  #clearedSeq = 0
  readonly #lastSeq = signal(0)
  /** Whether the list still shows the requests of an earlier stream. */
  #isStale = false
  #typingPause: number | undefined
  /** How many times a capture was opened or closed, so that answers to earlier reads can be ignored. */
  #captureReads = 0
  #endFollowing: () => void = () => undefined

  /** The number of requests that the list would have without a filter. */
  get all(): number {
    const without = Math.max(this.#clearedSeq, this.list.missedCount.value)
    return this.capture.value?.read ?? this.#lastSeq.value - without
  }

  /** Follows the requests that match the filter. The old list stays until the receiver sends the new one. */
  follow(): void {
    this.#endFollowing()
    this.#endFollowing = api.follow(this.filter.value, {
      reset: (receiver) => this.#reset(receiver),
      missed: (count) => this.#missed(count),
      arrived: (summaries, lastSeq) => this.#arrived(summaries, lastSeq),
      connection: (state, refusal) => this.#connected(state, refusal),
    })
  }

  /** Ends the stream until {@link follow}. */
  rest(): void {
    this.#endFollowing()
    this.connection.value = 'connecting'
  }

  /** Applies a filter, or shows why it is invalid. */
  async setFilter(text: string): Promise<void> {
    this.filterText.value = text
    const problem = await this.#applyFilter()
    if (problem !== undefined) this.filterProblem.value = problem
  }

  /** Applies the typed filter after a pause in typing, if it is valid. An empty one is applied without a pause. */
  typeFilter(text: string): void {
    this.filterText.value = text
    this.filterProblem.value = undefined
    clearTimeout(this.#typingPause)
    const isEmpty = text.trim() === ''
    this.#typingPause = window.setTimeout(
      () => void this.#applyFilter(),
      isEmpty ? 0 : typingPauseMs,
    )
  }

  /** Applies the text in the filter field, or returns what is wrong with it. */
  async #applyFilter(): Promise<MatchProblem | undefined> {
    clearTimeout(this.#typingPause)
    const { value: typed } = this.filterText
    const text = typed.trim()
    const check =
      text === '' ? { valid: true as const } : await tried(() => api.read('match', { text }))
    // If the text has changed meanwhile, a new check follows.
    if (this.filterText.value !== typed) return undefined
    this.filterProblem.value = check?.valid === true ? undefined : 'not shown'
    if (check?.valid !== true) return check
    if (text === this.filter.value) return undefined
    this.filter.value = text
    const { value: capture } = this.capture
    if (capture === undefined) this.follow()
    else await this.openCapture(capture.file)
    return undefined
  }

  /** Shows the matching requests of a capture instead of the live ones. */
  async openCapture(file: File): Promise<void> {
    const number = ++this.#captureReads
    const read = await tried(() => api.readCapture(file, this.filter.value))
    // A later file or filter, or the live list, replaces this one.
    if (read === undefined || number !== this.#captureReads) return
    this.#endFollowing()
    this.close()
    // End a pause, because it would hide every captured request with a higher number than the last one before it.
    if (this.isPaused.value) this.togglePause()
    this.list.clear()
    this.capture.value = { ...read, file }
    this.list.add(read.summaries)
  }

  closeCapture(): void {
    this.#captureReads++
    this.capture.value = undefined
    this.close()
    this.list.clear()
    this.follow()
  }

  togglePause(): void {
    if (this.capture.value !== undefined) return
    this.isPaused.value = !this.isPaused.value
    if (this.isPaused.value) this.list.pause(this.#lastSeq.value)
    else this.list.resume()
  }

  /** Empties the list. The receiver keeps the requests. */
  clear(): void {
    const before = this.#clearedSeq
    this.#clearUpTo(this.#lastSeq.value)
    this.list.clear()
    this.close()
    const undo = (): void => {
      this.#clearUpTo(before)
      this.follow()
    }
    tell('The list is cleared.', { offer: { label: 'Undo', act: undo } })
  }

  /** Clears requests up to a number. They stay cleared when the page is reloaded. */
  #clearUpTo(seq: number): void {
    this.#clearedSeq = seq
    sessionStorage.setItem(clearedKey, `${this.receiver.value?.run ?? ''}-${seq}`)
  }

  /** The request in the list from which the arrow keys move. */
  get current(): number | null {
    return this.compared.value ?? this.selected.value
  }

  /** Begins the choice of a request to compare with the selected one. */
  compare(): void {
    const isShown = this.detail.value.kind === 'shown' && this.capture.value === undefined
    if (isShown) this.compared.value = null
  }

  /** Selects a request, or compares it with the selected one if {@link compare} was called. */
  choose(seq: number): void {
    if (this.compared.value === undefined) void this.select(seq)
    else if (seq !== this.selected.value) this.compared.value = seq
  }

  /** Selects and reads a request. Does not read a shown request again: the receiver may have dropped it. */
  async select(seq: number): Promise<void> {
    if (seq === this.selected.value && this.detail.value.kind === 'shown') return
    this.compared.value = undefined
    this.selected.value = seq
    if (this.detail.value.kind !== 'shown') this.detail.value = { kind: 'loading' }
    const { value: capture } = this.capture
    const detail = await this.#read(seq)
    // By now, another request may be selected, or a request with the same number in another capture.
    const isSelected = this.selected.value === seq && this.capture.value === capture
    if (isSelected) this.detail.value = detail
  }

  async #read(seq: number): Promise<Detail> {
    try {
      const record = this.capture.value?.records.get(seq) ?? (await api.read('event', { seq }))
      return { kind: 'shown', record }
    } catch (error) {
      return { kind: 'failed', message: messageOf(error) }
    }
  }

  /** Reads the summaries of requests that arrived in a burst. */
  async readRows(seqs: readonly number[]): Promise<void> {
    const read = await tried(() => api.read('summaries', { seqs: seqs.join(',') }))
    if (read === undefined) return
    this.list.replace(read.summaries)
    if (read.summaries.length < seqs.length) this.list.forget(read.keptFrom)
  }

  /** Selects the next newer (1) or older (-1) request. */
  selectNeighbour(step: 1 | -1): void {
    const rows = this.list.rows(this.onlyFailed.value)
    const index = rows.findIndex(({ seq }) => seq === this.current)
    let target = index === -1 ? rows.length - 1 : index + step
    // Skip the selected request, because it cannot be compared with itself.
    if (this.compared.value != null && rows[target]?.seq === this.selected.value) target += step
    this.#step(rows[target])
  }

  selectEnd(end: 'newest' | 'oldest'): void {
    this.#step(this.list.rows(this.onlyFailed.value).at(end === 'newest' ? -1 : 0))
  }

  #step(row: api.ListRow | undefined): void {
    if (row === undefined) return
    this.isStep = this.selected.value !== null
    this.choose(row.seq)
    this.isStep = false
  }

  /** Ends the comparison. If there is none, deselects the request. */
  leave(): void {
    if (this.compared.value === undefined) this.close()
    else this.compared.value = undefined
  }

  /** Deselects the request. */
  close(): void {
    this.compared.value = undefined
    this.selected.value = null
    this.detail.value = { kind: 'none' }
  }

  #reset(receiver: api.ReceiverFacts): void {
    const { value: before } = this.receiver
    this.receiver.value = receiver
    // The requests that match a new filter come with the next message. Until then, an empty list would flicker.
    this.#isStale = true
    if (receiver.run === before?.run) return
    this.#renew()
    // A new run counts from 1 again. The selected number, and a number in the notice, are out of date.
    if (before !== undefined) {
      this.close()
      notice.value = undefined
    }
    this.#lastSeq.value = 0
    if (this.isPaused.value && before !== undefined) this.list.pause(0)
    const [run, seq] = (sessionStorage.getItem(clearedKey) ?? '').split('-')
    this.#clearedSeq = run === receiver.run ? Number(seq) : 0
  }

  #renew(): void {
    if (this.#isStale) this.list.clear()
    this.#isStale = false
  }

  #missed(count: number): void {
    this.#renew()
    this.list.missed(count)
  }

  #arrived(rows: readonly api.ListRow[], lastSeq: number): void {
    this.#renew()
    const shown = rows.filter(({ seq }) => seq > this.#clearedSeq)
    this.#lastSeq.value = Math.max(this.#lastSeq.value, lastSeq)
    if (shown.length > 0) this.list.add(shown)
  }

  #connected(state: 'open' | 'lost', refusal?: string): void {
    this.connection.value = state
    if (state === 'open' || refusal !== undefined) this.refusal.value = refusal
    // Check the filter again, because its check may have failed for lack of a connection.
    if (state === 'open' && this.filterProblem.value === 'not shown') void this.#applyFilter()
  }
}

export const session = new Session()
