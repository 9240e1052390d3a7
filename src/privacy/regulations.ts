import { setImmediate as nextTurn } from 'node:timers/promises'
import { isTemporary } from '../delivery/index.ts'
import { effectsOf, messageOf, type Destination } from '../model/index.ts'
import type { Runtime, Timer } from '../runtime/index.ts'
import { ArchiveErasures, type ArchiveErasuresOptions } from './archive-erasures.ts'
import {
  planRegulation,
  type PlannedRegulation,
  type RegulationRefusal,
  type RegulationRequest,
} from './plan-regulation.ts'
import { logCreated, logFinished } from './regulation-log.ts'
import type { Regulation } from './regulation.ts'
import { RewriteHold } from './rewrite-hold.ts'
import type {
  EraseResult,
  HeldUpErasure,
  RegulationReader,
  RegulationsRequest,
  RegulationStore,
  UnfinishedRegulation,
} from './store-port.ts'

/** What regulations are carried out with. */
export interface RegulationsOptions extends Pick<
  ArchiveErasuresOptions,
  'eraseArchives' | 'endReplays'
> {
  /** Where they are kept. */
  readonly store: RegulationStore
  /** The sources, and where notifications may go. */
  readonly configuration: () => {
    readonly sources: readonly { readonly id: string }[]
    readonly destinations: readonly Destination[]
  }
  /** Whether all is done that they ask for, as by default; else only archives are erased. */
  readonly erasesStore?: boolean
  /** Has whoever dispatches look for new deliveries. */
  readonly wake: () => void
  /** Clock, ids and log. */
  readonly runtime: Runtime
}

/** What became of a request. */
export type CreateRegulationOutcome =
  { readonly kind: 'created'; readonly regulation: Regulation } | RegulationRefusal

/** How often is looked at what waits for deliveries to come to their end, or for a store. */
const lookEveryMs = 1_000
/** Few enough that deliveries beside it do not wait long. */
const rowsAtOnceMax = 1_000
/** More wait for the next time that files are rewritten, so that there is an end to it. */
const regulationsPerRewriteMax = 100
/** Each may name thousands of users. */
const unfinishedAtOnce = 20

/**
 * Carries regulations out: one after the other, in small steps with everybody else's turn in between.
 * What waits for deliveries that are under way is looked at again every second and holds up no other.
 * Files of the store are rewritten once for all that are due, when everything else is done for them.
 */
export class Regulations implements RegulationReader {
  readonly #options: RegulationsOptions
  readonly #ending = new AbortController()
  /** What is to be done now, in order. */
  readonly #due: string[] = []
  /** What waits for deliveries. */
  readonly #waiting = new Set<string>()
  /** What nothing is left of in the store but traces in its files. */
  readonly #withTraces = new Set<string>()
  readonly #rewriteHold = new RewriteHold()
  readonly #archives: ArchiveErasures
  /** What was found among what other processes have stored. */
  readonly #found = new Set<string>()
  /** What failed, and waits for the next start. */
  readonly #failed = new Set<string>()
  #idle: (() => void)[] = []
  #work: Promise<void> | undefined
  #look: Timer | undefined
  #isStoreOut = false

  constructor(options: RegulationsOptions) {
    this.#options = options
    this.#archives = new ArchiveErasures(options)
  }

  /**
   * Goes on with what is not finished.
   *
   * @throws whatever makes the store unreadable
   */
  async start(): Promise<void> {
    const { store } = this.#options
    const ids: string[] = []
    const limit = unfinishedAtOnce
    for (
      let page: readonly Regulation[] | undefined;
      page === undefined || page.length === limit;
    ) {
      page = await store.list({ limit, beforeId: ids.at(-1), unfinished: true })
      ids.push(...page.map(({ id }) => id))
      for (const { id, type, archive } of page) {
        if (effectsOf(type).erasesArchives && archive === null) this.#archives.add(id)
      }
    }
    this.#take(ids.reverse())
  }

  /**
   * Goes on with what processes that share the store have not finished, wherever it was stored; with what
   * waits for others nobody is kept busy. What is told here every few seconds is not looked at in between.
   */
  found(regulations: readonly UnfinishedRegulation[]): void {
    const { erasesStore = true } = this.#options
    const unfinished = new Set(regulations.map(({ id }) => id))
    this.#archives.forgetAllBut((id) => unfinished.has(id) || this.#waiting.has(id))
    const left = regulations.filter(({ id }) => !this.#failed.has(id))
    for (const { id, isArchiveLeft } of left) if (isArchiveLeft) this.#archives.add(id)
    if (this.holdsArchives) void this.#archives.endReplays()
    const isWork = ({ isArchiveLeft, isDue }: UnfinishedRegulation): boolean =>
      isArchiveLeft || (isDue && erasesStore)
    const ids = left.filter(isWork).map(({ id }) => id)
    if (erasesStore) for (const id of ids) this.#found.add(id)
    this.#take(ids)
  }

  /**
   * Stores a regulation with its notifications, and begins to carry it out.
   *
   * @throws whatever makes the store refuse it
   */
  async create(request: RegulationRequest): Promise<CreateRegulationOutcome> {
    const { configuration, wake, runtime } = this.#options
    const { clock, newId } = runtime
    const nowMs = clock.nowMs()
    const plan = planRegulation({ ...configuration(), ...request, nowMs, newId })
    if (plan.kind !== 'planned') return plan
    const { regulation, notifications } = plan
    await this.#store(plan, nowMs)
    if (notifications.length > 0) wake()
    logCreated(runtime.log, plan)
    this.#due.push(regulation.id)
    this.#begin()
    const created = await this.find({ id: regulation.id })
    if (created === undefined) throw new Error(`The regulation ${regulation.id} was not kept`)
    return { kind: 'created', regulation: created }
  }

  /** Whether archives may still have what a regulation wants erased of them. */
  get holdsArchives(): boolean {
    return this.#archives.isAnyLeft
  }

  /** One regulation; undefined when there is none. */
  find(request: { readonly id: string }): Promise<Regulation | undefined> {
    return this.#options.store.find(request)
  }

  /** Regulations, the newest first. */
  list(request: RegulationsRequest): Promise<readonly Regulation[]> {
    return this.#options.store.list(request)
  }

  /**
   * Looks at once at what waits; resolves when nothing is left but what waits for deliveries to come to
   * their end or for files that cannot be rewritten, or fails until the next start, or once it is closed.
   */
  async idle(): Promise<void> {
    this.#lookAgain()
    if (this.#isClosed || (this.#work === undefined && !this.#hasWork)) return
    await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Ends the work after the step under way; what is not finished stays in the store. Idempotent. */
  async close(): Promise<void> {
    this.#ending.abort(new Error('Regulations are not carried out any more'))
    this.#look?.cancel()
    await this.#work
    this.#endIdle()
  }

  async #store({ regulation, notifications }: PlannedRegulation, nowMs: number): Promise<void> {
    const { store } = this.#options
    const { id, type } = regulation
    try {
      if (effectsOf(type).erasesArchives) {
        // Not after it is stored: what a replay adds then would be taken for something new.
        this.#archives.add(id)
        await this.#archives.endReplays()
      }
      await store.create({ regulation, notifications, nowMs })
    } catch (error) {
      this.#archives.remove(id)
      throw error
    }
  }

  #take(ids: readonly string[]): void {
    const known = new Set([...this.#due, ...this.#waiting, ...this.#withTraces])
    this.#due.push(...ids.filter((id) => !known.has(id)))
    this.#begin()
  }

  get #isClosed(): boolean {
    return this.#ending.signal.aborted
  }

  /** Whether there is something to be done now. */
  get #hasWork(): boolean {
    return this.#due.length > 0 || (this.#withTraces.size > 0 && this.#heldUpMs === 0)
  }

  get #heldUpMs(): number {
    return this.#rewriteHold.leftMs(this.#options.runtime.clock.nowMs())
  }

  #lookAgain(): void {
    this.#due.push(...this.#waiting)
    this.#waiting.clear()
    this.#begin()
  }

  #begin(): void {
    if (this.#isClosed || this.#work !== undefined || !this.#hasWork) return
    this.#look?.cancel()
    this.#work = this.#doDue().then(() => {
      this.#work = undefined
      this.#rest()
    })
  }

  async #doDue(): Promise<void> {
    const release = this.#options.runtime.clock.hold()
    try {
      while (this.#hasWork && !this.#isClosed) {
        if ((await this.#carryOutDue()) === 'later') return
        if ((await this.#rewriteFiles()) === 'later') return
      }
    } finally {
      release()
    }
  }

  async #carryOutDue(): Promise<'done' | 'later'> {
    for (let count = 0; count < regulationsPerRewriteMax; count++) {
      const [id] = this.#due
      if (id === undefined || this.#isClosed) break
      if ((await this.#attempt(id, () => this.#carryOut(id))) === 'later') return 'later'
      this.#due.shift()
    }
    return 'done'
  }

  /** The first of them has the files rewritten, and the others find that it is done. */
  async #rewriteFiles(): Promise<'done' | 'later'> {
    for (const id of [...this.#withTraces]) {
      if (this.#isClosed || this.#heldUpMs > 0) break
      if ((await this.#attempt(id, () => this.#endTraces(id))) === 'later') return 'later'
    }
    return 'done'
  }

  #rest(): void {
    if (this.#isClosed) return
    // Something came after the last of them.
    if (this.#hasWork && !this.#isStoreOut) {
      this.#begin()
      return
    }
    if (!this.#hasWork) this.#endIdle()
    const isSoon = this.#hasWork || this.#waiting.size > 0
    if (!isSoon && this.#withTraces.size === 0) return
    const delayMs = isSoon ? lookEveryMs : this.#heldUpMs
    this.#look = this.#options.runtime.clock.schedule(delayMs, () => this.#lookAgain())
  }

  #endIdle(): void {
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** `later` where the store cannot be used for now. */
  async #attempt(id: string, work: () => Promise<void>): Promise<'done' | 'later'> {
    const { log } = this.#options.runtime
    try {
      await work()
      this.#isStoreOut = false
    } catch (error) {
      if (this.#isClosed) return 'done'
      const reason = messageOf(error)
      if (isTemporary(error)) {
        // Said once, not every second.
        if (!this.#isStoreOut) log.warn('regulations wait for the store', { error: reason })
        this.#isStoreOut = true
        return 'later'
      }
      this.#isStoreOut = false
      this.#archives.forget(id)
      this.#failed.add(id)
      this.#withTraces.delete(id)
      log.warn('a regulation waits for the next start', { regulation: id, error: reason })
    }
    return 'done'
  }

  async #carryOut(id: string): Promise<void> {
    const { erasesStore = true } = this.#options
    if (!erasesStore) {
      await this.#eraseArchivesOf(id)
      return
    }
    const left = await this.#eraseStore(id, { leavesTraces: true })
    await this.#eraseArchivesOf(id)
    if (left === 'waiting' || left === 'nothing') await this.#conclude(id, left)
    else this.#withTraces.add(id)
  }

  async #endTraces(id: string): Promise<void> {
    const left = await this.#eraseStore(id, { leavesTraces: false })
    if (typeof left === 'object') {
      this.#heldUp(left)
      return
    }
    this.#rewriteHold.succeeded()
    await this.#conclude(id, left === 'nothing' ? left : 'waiting')
    this.#withTraces.delete(id)
  }

  #heldUp({ reason, hint }: HeldUpErasure): void {
    const { clock, log } = this.#options.runtime
    if (!this.#rewriteHold.failed(clock.nowMs())) return
    const fields = { regulations: this.#withTraces.size, reason, hint }
    log.warn('regulations wait until files of the store can be rewritten', fields)
  }

  async #conclude(id: string, left: 'waiting' | 'nothing'): Promise<void> {
    const { store, runtime } = this.#options
    if (this.#isClosed) return
    const isFound = this.#found.delete(id)
    const regulation = left === 'nothing' ? await store.find({ id }) : undefined
    if (left === 'waiting' || isNotifying(regulation)) {
      if (!isFound) this.#waiting.add(id)
      return
    }
    // It is found again once the last of them is erased.
    if (isAwaitingArchives(regulation)) return
    this.#archives.forget(id)
    // Another process may have finished it.
    if (regulation?.finishedAtMs !== null) return
    const nowMs = runtime.clock.nowMs()
    await store.finish({ id, nowMs })
    logFinished(runtime.log, { ...regulation, finishedAtMs: nowMs })
  }

  async #eraseStore(
    id: string,
    { leavesTraces }: { readonly leavesTraces: boolean },
  ): Promise<Exclude<EraseResult, 'more'>> {
    const { store, runtime } = this.#options
    for (;;) {
      const nowMs = runtime.clock.nowMs()
      const left = await store.erase({ id, nowMs, rowsMax: rowsAtOnceMax, leavesTraces })
      await nextTurn()
      if (left !== 'more') return left
      if (this.#isClosed) return 'waiting'
    }
  }

  async #eraseArchivesOf(id: string): Promise<void> {
    if (!this.#isClosed) await this.#archives.erase(id, this.#ending.signal)
  }
}

function isNotifying(regulation: Regulation | undefined): boolean {
  return regulation?.streams.some(({ pending }) => pending > 0) === true
}

function isAwaitingArchives(regulation: Regulation | undefined): boolean {
  return (regulation?.archivesLeft?.length ?? 0) > 0
}
