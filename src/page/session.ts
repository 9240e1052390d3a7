import { signal } from '@preact/signals'
import type { EventRecord, Resent } from '../receiver/index.ts'
import * as api from './api.ts'
import type { MatchProblem, NewRequest, RequestEdit } from './api.ts'
import { EventList } from './event-list.ts'
import type { Notice } from './notice.tsx'
import { signatureText } from './text.ts'
import { hasNoAnswer, messageOf } from './use-read.ts'

/** The state of the detail view. */
export type Detail =
  | { readonly kind: 'none' | 'loading' | 'gone' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'shown'; readonly record: EventRecord }

/** A capture that replaces the live requests in the list. */
export interface ShownCapture extends api.Capture {
  readonly file: File
}

/** The key in the session storage for the number up to which the list was cleared. */
const clearedKey = 'cleared'

/** A filter is applied after this pause in typing. */
const typingPauseMs = 200

/** The state of the page: the list, its filter and the selected request. Also has the actions on them. */
export class Session {
  readonly list = new EventList()
  readonly filter = signal('')
  /** The text in the filter field. It may differ from the applied filter. */
  readonly filterText = signal('')
  readonly filterProblem = signal<MatchProblem | undefined>(undefined)
  /** Whether the text in the filter field is not applied because it is invalid. */
  readonly isFilterUnfinished = signal(false)
  readonly onlyFailed = signal(false)
  readonly isPaused = signal(false)
  readonly connection = signal<'connecting' | 'open' | 'lost'>('connecting')
  readonly receiver = signal<api.ReceiverFacts | undefined>(undefined)
  readonly selected = signal<number | null>(null)
  readonly detail = signal<Detail>({ kind: 'none' })
  /** The request to compare with the selected one; null while a person chooses it, undefined for no comparison. */
  readonly compared = signal<number | null | undefined>(undefined)
  readonly notice = signal<Notice | undefined>(undefined)
  readonly capture = signal<ShownCapture | undefined>(undefined)
  /** Increases with each action on the receiver, so that components read its state again. */
  readonly version = signal(0)
  /** Whether the selection moves by a key. */
  isStep = false
  /** Requests up to this number are not shown. */
  #clearedSeq = 0
  readonly #lastSeq = signal(0)
  #typingPause: number | undefined
  #endFollowing: () => void = () => undefined
  readonly #showText: (title: string, text: string) => void

  /** @param showText - called with a text to copy if the browser denies access to the clipboard */
  constructor(showText: (title: string, text: string) => void) {
    this.#showText = showText
  }

  /** The number of requests that the list would have without a filter. */
  get all(): number {
    const without = Math.max(this.#clearedSeq, this.list.missedCount.value)
    return this.capture.value?.read ?? this.#lastSeq.value - without
  }

  follow(): void {
    this.#endFollowing()
    this.list.clear()
    this.#endFollowing = api.follow(this.filter.value, {
      reset: (receiver) => this.#reset(receiver),
      missed: (count) => this.list.missed(count),
      arrived: (summaries, lastSeq) => this.#arrived(summaries, lastSeq),
      connection: (state) => this.#connected(state),
    })
  }

  /** Applies a filter, or shows why it is invalid. */
  async setFilter(text: string): Promise<void> {
    this.filterText.value = text
    this.filterProblem.value = await this.#applyFilter()
  }

  /** Applies the typed filter after a pause in typing, if it is valid. An empty one is applied without a pause. */
  typeFilter(text: string): void {
    this.filterText.value = text
    this.filterProblem.value = undefined
    this.isFilterUnfinished.value = false
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
    const problem = await this.#tried(() => api.checkFilter(text))
    // If the text has changed meanwhile, a new check follows.
    if (this.filterText.value !== typed) return undefined
    this.isFilterUnfinished.value = problem !== undefined
    if (problem !== undefined || text === this.filter.value) return problem
    this.filter.value = text
    const { value: capture } = this.capture
    if (capture === undefined) this.follow()
    else await this.openCapture(capture.file)
    return undefined
  }

  /** Shows the matching requests of a capture instead of the live ones. */
  async openCapture(file: File): Promise<void> {
    const read = await this.#tried(() => api.readCapture(file, this.filter.value))
    if (read === undefined) return
    this.#endFollowing()
    this.close()
    this.list.clear()
    this.capture.value = { ...read, file }
    this.list.add(read.summaries)
  }

  /** Shows the live requests again. */
  closeCapture(): void {
    this.capture.value = undefined
    this.close()
    this.follow()
  }

  togglePause(): void {
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
    this.tell('The list is cleared.', { label: 'Undo', act: undo })
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

  /** Selects a request. Reads it unless it is shown, because the receiver may have dropped it meanwhile. */
  async select(seq: number): Promise<void> {
    if (seq === this.selected.value && this.detail.value.kind === 'shown') return
    this.compared.value = undefined
    this.selected.value = seq
    if (this.detail.value.kind !== 'shown') this.detail.value = { kind: 'loading' }
    const detail = await this.#read(seq)
    // Another request may be selected by now.
    if (this.selected.value === seq) this.detail.value = detail
  }

  async #read(seq: number): Promise<Detail> {
    try {
      const record = this.capture.value?.records.get(seq) ?? (await api.readEvent(seq))
      return record === undefined ? { kind: 'gone' } : { kind: 'shown', record }
    } catch (error) {
      return { kind: 'failed', message: messageOf(error) }
    }
  }

  /** Reads the summaries of requests that arrived in a burst. */
  async readRows(seqs: readonly number[]): Promise<void> {
    const read = await this.#tried(() => api.readSummaries(seqs))
    if (read === undefined) return
    this.list.replace(read.summaries)
    if (read.summaries.length < seqs.length) this.list.forget(read.keptFrom)
  }

  /** Selects the next newer (1) or older (-1) request. */
  selectNeighbour(step: 1 | -1): void {
    const rows = this.list.rows(this.onlyFailed.value)
    const index = rows.findIndex(({ seq }) => seq === this.current)
    let place = index === -1 ? rows.length - 1 : index + step
    // Skip the selected request, because it cannot be compared with itself.
    if (this.compared.value != null && rows[place]?.seq === this.selected.value) place += step
    this.#step(rows[place])
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

  /** Sends a request to the receiver again, or an edited request to a different server. */
  async resend(record: EventRecord, edit?: RequestEdit): Promise<void> {
    const { seq, endpoint, path, headers, rawBase64 } = record
    // Send the content, because the receiver may have dropped the request, unless only the receiver knows the endpoint.
    const isSent = endpoint === null || this.capture.value !== undefined
    const resent = await this.#tried(() =>
      isSent ? api.send(edit ?? { path, headers, rawBase64 }) : api.resend(seq, edit),
    )
    const where = edit?.url === undefined ? '' : ` to ${edit.url}`
    const how = edit === undefined ? 'without changes' : 'edited'
    this.#tellSent(`Resent #${seq} ${how}${where}`, resent)
  }

  /** Sends the same bytes again, with a signature made with the receiver's secret. */
  async signAndResend({ seq, path }: EventRecord): Promise<void> {
    const resent = await this.#tried(() => api.resend(seq, { path }))
    this.#tellSent(`Signed and resent #${seq}`, resent)
  }

  async send(request: NewRequest): Promise<void> {
    this.#tellSent('Sent', await this.#tried(() => api.send(request)))
  }

  /** Answers the next webhook with a status or a fault, after a delay such as `2s`. */
  setNextAnswer(answer: number | string, delay: string): Promise<boolean> {
    const undo = (): void =>
      void this.#done(() => api.setNextAnswer(null), 'The next webhook gets its usual answer.')
    return this.#done(
      () => api.setNextAnswer(answer, delay === '' ? undefined : delay),
      `The next webhook gets ${answer}${delay === '' ? '' : ` after ${delay}`}.`,
      { undo, cause: 'next answer' },
    )
  }

  /** Replaces the answer plans, one per line. Undo restores the plans in `before`. */
  setPlan(text: string, before: string): Promise<boolean> {
    const lines = text.split('\n').filter((line) => line.trim() !== '')
    const plan = lines.length === 0 ? ['200'] : lines
    return this.#done(
      () => api.setPlan(plan),
      'The plan is set. It begins with the next webhook.',
      { undo: () => void this.setPlan(before, text) },
    )
  }

  /** Expects webhooks from now on. Returns false if the expectation is invalid. */
  async expect(text: string): Promise<boolean> {
    const id = await this.#tried(() => api.expectWebhooks(text))
    if (id === undefined) return false
    this.version.value += 1
    const undo = { label: 'Undo', act: () => void this.forget(id, text) }
    this.tell(`Expecting ${text} from now on.`, undo)
    return true
  }

  /** Expects a webhook like this one from now on. */
  async expectLike(seq: number): Promise<void> {
    const text = await this.#tried(() => api.readExpectation(seq))
    if (text !== undefined) await this.expect(text)
  }

  forget(id: number, text: string): Promise<boolean> {
    return this.#done(() => api.forgetExpectation(id), 'The expectation is removed.', {
      undo: () => void this.expect(text),
    })
  }

  /** Copies the match condition for a value of a payload, and offers to filter by it. */
  async copyCondition(keys: readonly string[], value: unknown): Promise<void> {
    const text = await this.#tried(() => api.readCondition(keys, value))
    if (text === undefined) return
    await this.copy('condition', text)
    const offer = { label: 'Filter by it', act: () => void this.setFilter(text) }
    this.tell(`Copied ${text}`, offer)
  }

  /** Copies a text, or shows it if the browser denies access to the clipboard. */
  async copy(title: string, text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text)
      this.tell(`The ${title} is copied.`)
    } catch {
      this.#showText(title, text)
    }
  }

  tell(text: string, offer?: Notice['offer']): void {
    this.notice.value = { text, isProblem: false, offer }
  }

  #tellSent(what: string, sent: Resent | undefined): void {
    if (sent === undefined) return
    const { status, error, seq, signature } = sent
    const end = status === null ? (error ?? 'there was no answer') : `the answer is ${status}`
    const isChecked = signature !== null && signature !== 'unchecked'
    const verdict = isChecked ? ` Signature ${signatureText(signature)}.` : ''
    // In a capture, the number would select a different request.
    const isHidden = seq === null || this.capture.value !== undefined
    const offer = isHidden ? undefined : { label: `Show #${seq}`, act: () => void this.select(seq) }
    const isProblem = status === null || status >= 400
    this.notice.value = { text: `${what}: ${end}.${verdict}`, isProblem, offer }
  }

  async #done(
    work: () => Promise<void>,
    text: string,
    { undo, cause }: { undo?: () => void; cause?: Notice['cause'] } = {},
  ): Promise<boolean> {
    const isDone = await this.#tried(() => work().then(() => true))
    if (isDone === undefined) return false
    this.version.value += 1
    const offer = undo && { label: 'Undo', act: undo }
    this.notice.value = { text, isProblem: false, offer, cause }
    return true
  }

  #reset(receiver: api.ReceiverFacts): void {
    const { value: before } = this.receiver
    this.receiver.value = receiver
    this.list.clear()
    if (receiver.run === before?.run) return
    // A new run counts from 1 again, so the number of the selected request now belongs to a different one.
    if (before !== undefined) this.close()
    this.#lastSeq.value = 0
    if (this.isPaused.value && before !== undefined) this.list.pause(0)
    const [run, seq] = (sessionStorage.getItem(clearedKey) ?? '').split('-')
    this.#clearedSeq = run === receiver.run ? Number(seq) : 0
  }

  #arrived(rows: readonly api.ListRow[], lastSeq: number): void {
    const shown = rows.filter(({ seq }) => seq > this.#clearedSeq)
    this.#lastSeq.value = Math.max(this.#lastSeq.value, lastSeq)
    if (shown.length > 0) this.list.add(shown)
    void this.#closeUsedAnswer()
  }

  #connected(state: 'open' | 'lost'): void {
    this.connection.value = state
    if (state === 'open') this.#closeNotice('no connection')
  }

  /** Closes the notice about the next answer once a webhook has got that answer. */
  async #closeUsedAnswer(): Promise<void> {
    if (this.notice.value?.cause !== 'next answer') return
    const planned = await this.#tried(() => api.readPlan())
    if (planned?.next.length === 0) this.#closeNotice('next answer')
  }

  #closeNotice(cause: Notice['cause']): void {
    if (this.notice.value?.cause === cause) this.notice.value = undefined
  }

  async #tried<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await work()
    } catch (error) {
      const cause = hasNoAnswer(error) ? 'no connection' : undefined
      this.notice.value = { text: messageOf(error), isProblem: true, cause }
      return undefined
    }
  }
}
