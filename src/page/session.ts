import { signal } from '@preact/signals'
import type { EventRecord, Resent } from '../receiver/index.ts'
import * as api from './api.ts'
import type { MatchProblem, NewRequest, RequestEdit } from './api.ts'
import { EventList } from './event-list.ts'
import { readDetail, type Detail } from './read-detail.ts'
import type { Notice } from './notice.tsx'
import { signatureText } from './text.ts'
import { hasNoAnswer, messageOf } from './use-read.ts'

/** A capture that replaces the live requests in the list. */
export interface ShownCapture extends api.Capture {
  readonly file: File
}

/** Where the browser keeps up to which request the list was cleared, for as long as the tab is open. */
const clearedKey = 'cleared'

/** A filter that is typed applies after this pause, not after each letter. */
const typingPauseMs = 200

/** State of the page: the list, its filter and the selected request; and the actions on them. */
export class Session {
  readonly list = new EventList()
  readonly filter = signal('')
  /** The text in the filter field. It may not apply yet. */
  readonly filterText = signal('')
  readonly filterProblem = signal<MatchProblem | undefined>(undefined)
  /** Whether the text that is being typed does not apply, because it is invalid so far. */
  readonly isFilterUnfinished = signal(false)
  readonly onlyFailed = signal(false)
  readonly isPaused = signal(false)
  readonly connection = signal<'connecting' | 'open' | 'lost'>('connecting')
  readonly receiver = signal<api.ReceiverFacts | undefined>(undefined)
  readonly selected = signal<number | null>(null)
  readonly detail = signal<Detail>({ kind: 'none' })
  /** What the selected request is compared with; undefined without a comparison, null while it is chosen. */
  readonly compared = signal<number | null | undefined>(undefined)
  readonly notice = signal<Notice | undefined>(undefined)
  readonly capture = signal<ShownCapture | undefined>(undefined)
  /** Grows with each action on the receiver, so that components read its state again. */
  readonly version = signal(0)
  /** Whether the selection is moving by a key, from one request to the next. */
  isStep = false
  /** Requests up to this number were cleared. */
  #clearedSeq = 0
  readonly #lastSeq = signal(0)
  #typingPause: number | undefined
  #endFollowing: () => void = () => undefined
  readonly #showText: (title: string, text: string) => void

  /** @param showText - shows a text if the browser denies access to the clipboard */
  constructor(showText: (title: string, text: string) => void) {
    this.#showText = showText
  }

  /** How many requests the list would have without a filter. */
  get all(): number {
    const { value: capture } = this.capture
    const without = Math.max(this.#clearedSeq, this.list.missedCount.value)
    return capture?.read ?? this.#lastSeq.value - without
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

  /** Applies a filter if it is valid, and shows its mistake if it is not. */
  async setFilter(text: string): Promise<void> {
    this.filterText.value = text
    this.filterProblem.value = await this.#applyFilter()
  }

  /** Applies a filter while it is typed, if it is valid. An empty one applies at once. */
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

  /** Applies the text in the filter field, or returns its mistake. */
  async #applyFilter(): Promise<MatchProblem | undefined> {
    clearTimeout(this.#typingPause)
    const { value: typed } = this.filterText
    const text = typed.trim()
    const problem = await this.#tried(() => api.checkFilter(text))
    // The text may have changed by now. Its own check follows.
    if (this.filterText.value !== typed) return undefined
    this.isFilterUnfinished.value = problem !== undefined
    if (problem !== undefined || text === this.filter.value) return problem
    this.filter.value = text
    const { value: capture } = this.capture
    if (capture === undefined) this.follow()
    else await this.openCapture(capture.file)
    return undefined
  }

  /** Shows the requests of a capture that match, instead of the live ones. */
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

  /** Clears requests up to this number, also after a reload of the page. */
  #clearUpTo(seq: number): void {
    this.#clearedSeq = seq
    sessionStorage.setItem(clearedKey, `${this.receiver.value?.run ?? ''}-${seq}`)
  }

  /** The request in the list that the arrow keys move from. */
  get current(): number | null {
    return this.compared.value ?? this.selected.value
  }

  /** Lets the person choose the request to compare the selected one with. */
  compare(): void {
    const isShown = this.detail.value.kind === 'shown' && this.capture.value === undefined
    if (isShown) this.compared.value = null
  }

  /** Acts on a click or a key in the list: selects a request, or compares it with the selected one. */
  choose(seq: number): void {
    if (this.compared.value === undefined) void this.select(seq)
    else if (seq !== this.selected.value) this.compared.value = seq
  }

  /** Selects a request and reads it. */
  async select(seq: number): Promise<void> {
    if (seq !== this.selected.value) this.compared.value = undefined
    this.selected.value = seq
    if (this.detail.value.kind !== 'shown') this.detail.value = { kind: 'loading' }
    const captured = this.capture.value?.records.get(seq)
    const detail: Detail =
      captured === undefined ? await readDetail(seq) : { kind: 'shown', record: captured }
    // Another request may be selected by now.
    if (this.selected.value === seq) this.detail.value = detail
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
    // A request is not compared with itself.
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

  /** Ends the comparison if there is one; otherwise deselects the request. */
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

  /** Sends a request to the receiver again, or an edited one to another server. */
  async resend(record: EventRecord, edit?: RequestEdit): Promise<void> {
    const { seq, path, headers, rawBase64 } = record
    const isCaptured = this.capture.value !== undefined
    const resent = await this.#tried(() =>
      isCaptured ? api.send(edit ?? { path, headers, rawBase64 }) : api.resend(seq, edit),
    )
    const where = edit?.url === undefined ? '' : ` to ${edit.url}`
    this.#tellSent(`Resent #${seq} ${edit === undefined ? 'as it was' : 'edited'}${where}`, resent)
  }

  /** Sends the same bytes again, signed with the secret of the receiver. */
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

  /** Replaces the answer plans, one per line. `before` is what undo restores. */
  setPlan(text: string, before: string): Promise<boolean> {
    const lines = text.split('\n').filter((line) => line.trim() !== '')
    const plan = lines.length === 0 ? ['200'] : lines
    return this.#done(
      () => api.setPlan(plan),
      'The plan is set. It begins with the next webhook.',
      { undo: () => void this.setPlan(before, text) },
    )
  }

  /** Expects webhooks from now on; false if the expectation is invalid. */
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

  /** Shows a notice. */
  tell(text: string, offer?: Notice['offer']): void {
    this.notice.value = { text, isProblem: false, offer }
  }

  #tellSent(what: string, sent: Resent | undefined): void {
    if (sent === undefined) return
    const { status, error, seq, signature } = sent
    const end = status === null ? (error ?? 'it got no answer') : `the answer is ${status}`
    const verdict =
      signature === null || signature === 'unchecked'
        ? ''
        : ` Signature ${signatureText(signature)}.`
    // A shown capture has its own numbers: this one would select another request.
    const isShowable = seq !== null && this.capture.value === undefined
    const offer = isShowable
      ? { label: `Show #${seq}`, act: () => void this.select(seq) }
      : undefined
    const isProblem = status === null || status >= 400
    this.notice.value = { text: `${what}: ${end}.${verdict}`, isProblem, offer }
  }

  async #done(
    work: () => Promise<void>,
    text: string,
    { undo, cause }: { undo?: () => void; cause?: Notice['cause'] } = {},
  ): Promise<boolean> {
    const isDone = (await this.#tried(() => work().then(() => true))) === true
    if (!isDone) return false
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
    // A new run counts from 1 again, so the selected number would mean another request.
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

  /** Closes the notice about the next answer once a webhook got this answer. */
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
