import { setImmediate as nextTurn } from 'node:timers/promises'
import { isTemporary } from '../delivery/index.ts'
import { effectsOf, messageOf, type Destination } from '../model/index.ts'
import type { Log, Runtime, Timer } from '../runtime/index.ts'
import { ArchiveErasures, type ArchiveErasuresOptions } from './archive-erasures.ts'
import {
  planRegulation,
  type PlannedRegulation,
  type RegulationRequest,
  type UnknownSource,
} from './plan-regulation.ts'
import type { Regulation } from './regulation.ts'
import { RewriteHold } from './rewrite-hold.ts'
import { overallStatus } from './status.ts'
import type {
  EraseResult,
  HeldUpErasure,
  RegulationReader,
  RegulationsRequest,
  RegulationStore,
  UnfinishedRegulation,
} from './store-port.ts'

/** Options of {@link Regulations}. */
export interface RegulationsOptions extends Pick<
  ArchiveErasuresOptions,
  'eraseArchives' | 'endReplays'
> {
  readonly store: RegulationStore
  /** Returns the current sources, and the destinations that can be notified. */
  readonly configuration: () => {
    readonly sources: readonly { readonly id: string }[]
    readonly destinations: readonly Destination[]
  }
  /** Whether this process also erases from the store. If false, other processes must do so. True by default. */
  readonly erasesStore?: boolean
  /** Called after notifications were stored, to wake the dispatcher. */
  readonly wake: () => void
  readonly runtime: Runtime
}

/** The new regulation, or an unknown source that the request names. */
export type CreateRegulationOutcome =
  { readonly kind: 'created'; readonly regulation: Regulation } | UnknownSource

/** How often to retry regulations that wait for deliveries or the store. */
const lookEveryMs = 1_000
/** Maximum number of rows per step, small enough that deliveries are hardly delayed. */
const rowsAtOnceMax = 1_000
/** Maximum number of regulations that share a rewrite of the store's files. */
const regulationsPerRewriteMax = 100
/** Number of regulations to read at a time: few, because each may name thousands of users. */
const unfinishedAtOnce = 20

/**
 * Carries out regulations one after the other, in small steps with turns of the event loop in between. If a regulation
 * must wait for leased deliveries or notifications, the next regulation begins. The waiting one is tried again every
 * second. Traces in the store's files are removed last. One rewrite of the files does this for all waiting regulations.
 */
export class Regulations implements RegulationReader {
  readonly #options: RegulationsOptions
  readonly #ending = new AbortController()
  /** Ids of the regulations to work on now, in order. */
  readonly #due: string[] = []
  /** Regulations to try again in a second: they wait for leased deliveries or notifications. */
  readonly #waiting = new Set<string>()
  /** Regulations whose users are erased except for traces in the store's files. */
  readonly #withTraces = new Set<string>()
  readonly #rewriteHold = new RewriteHold()
  readonly #archives: ArchiveErasures
  /** Due regulations that `found` was called with. It is soon called with them again, so they never join `#waiting`. */
  readonly #found = new Set<string>()
  /** Regulations that failed. They are retried after a restart. */
  readonly #failed = new Set<string>()
  #idle: (() => void)[] = []
  #work: Promise<void> | undefined
  #look: Timer | undefined
  #isStoreOut = false

  constructor(options: RegulationsOptions) {
    this.#options = options
    this.#archives = new ArchiveErasures(options)
  }

  /** Resumes the unfinished regulations in a store that only this process uses. */
  async start(): Promise<void> {
    const ids: string[] = []
    const limit = unfinishedAtOnce
    let page: readonly Regulation[]
    do {
      page = await this.list({ limit, beforeId: ids.at(-1), unfinished: true })
      ids.push(...page.map(({ id }) => id))
      for (const { id, type, archive } of page) {
        if (effectsOf(type).erasesArchives && archive === null) this.#archives.add(id)
      }
    } while (page.length === limit)
    this.#take(ids.reverse())
  }

  /** Resumes unfinished regulations in a shared store. Call it every few seconds with all of them. */
  found(regulations: readonly UnfinishedRegulation[]): void {
    const { erasesStore = true } = this.#options
    const unfinished = new Set(regulations.map(({ id }) => id))
    this.#archives.forgetAllBut((id) => unfinished.has(id) || this.#waiting.has(id))
    const active = regulations.filter(({ id }) => !this.#failed.has(id))
    for (const { id, isArchiveLeft } of active) if (isArchiveLeft) this.#archives.add(id)
    if (this.holdsArchives) void this.#options.endReplays?.()
    const isWork = ({ isArchiveLeft, isDue }: UnfinishedRegulation): boolean =>
      isArchiveLeft || (isDue && erasesStore)
    const ids = active.filter(isWork).map(({ id }) => id)
    if (erasesStore) for (const id of ids) this.#found.add(id)
    this.#take(ids)
  }

  /** Stores a regulation with its notifications, and starts to carry it out. Throws like {@link planRegulation}. */
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
    if (created === undefined)
      throw new Error(`The regulation ${regulation.id} was created, but cannot be found`)
    return { kind: 'created', regulation: created }
  }

  /** Whether users must still be erased from archives. Until then, no replay may run. */
  get holdsArchives(): boolean {
    return this.#archives.isAnyLeft
  }

  find(request: { readonly id: string }): Promise<Regulation | undefined> {
    return this.#options.store.find(request)
  }

  list(request: RegulationsRequest): Promise<readonly Regulation[]> {
    return this.#options.store.list(request)
  }

  /** Retries waiting regulations now. Resolves once no regulation can continue for the moment, or on `close`. */
  async idle(): Promise<void> {
    this.#lookAgain()
    if (this.#isClosed || (this.#work === undefined && !this.#hasWork)) return
    await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Stops after the current step. Unfinished regulations stay in the store, to be resumed. Idempotent. */
  async close(): Promise<void> {
    this.#ending.abort(new Error('Regulations are no longer carried out'))
    this.#look?.cancel()
    await this.#work
    this.#endIdle()
  }

  async #store({ regulation, notifications }: PlannedRegulation, nowMs: number): Promise<void> {
    const { store, endReplays } = this.#options
    const { id, type } = regulation
    try {
      if (effectsOf(type).erasesArchives) {
        // End replays first: a regulation doesn't cover events that are added after it is stored.
        this.#archives.add(id)
        await endReplays?.()
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

  /** Removes the traces of all regulations in `#withTraces`. The first `#endTraces` rewrites the files for all. */
  async #rewriteFiles(): Promise<'done' | 'later'> {
    for (const id of [...this.#withTraces]) {
      if (this.#isClosed || this.#heldUpMs > 0) break
      if ((await this.#attempt(id, () => this.#endTraces(id))) === 'later') return 'later'
    }
    return 'done'
  }

  #rest(): void {
    if (this.#isClosed) return
    // Carry out regulations that arrived in the meantime.
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

  async #attempt(id: string, work: () => Promise<void>): Promise<'done' | 'later'> {
    const { log } = this.#options.runtime
    try {
      await work()
      this.#isStoreOut = false
    } catch (error) {
      if (this.#isClosed) return 'done'
      const reason = messageOf(error)
      if (isTemporary(error)) {
        if (!this.#isStoreOut) log.warn('regulations are waiting for the store', { error: reason })
        this.#isStoreOut = true
        return 'later'
      }
      this.#isStoreOut = false
      this.#archives.forget(id)
      this.#failed.add(id)
      this.#withTraces.delete(id)
      log.warn('a regulation failed; it is retried at the next start', {
        regulation: id,
        error: reason,
      })
    }
    return 'done'
  }

  async #carryOut(id: string): Promise<void> {
    const { erasesStore = true } = this.#options
    if (!erasesStore) {
      await this.#eraseArchivesOf(id)
      return
    }
    const remaining = await this.#eraseStore(id, { leavesTraces: true })
    await this.#eraseArchivesOf(id)
    if (remaining === 'waiting' || remaining === 'nothing') await this.#conclude(id, remaining)
    else this.#withTraces.add(id)
  }

  async #endTraces(id: string): Promise<void> {
    const remaining = await this.#eraseStore(id, { leavesTraces: false })
    if (typeof remaining === 'object') {
      this.#heldUp(remaining)
      return
    }
    this.#rewriteHold.succeeded()
    await this.#conclude(id, remaining === 'nothing' ? remaining : 'waiting')
    this.#withTraces.delete(id)
  }

  #heldUp({ reason, hint }: HeldUpErasure): void {
    const { clock, log } = this.#options.runtime
    if (!this.#rewriteHold.failed(clock.nowMs())) return
    const fields = { regulations: this.#withTraces.size, reason, hint }
    log.warn("regulations wait until the store's files can be rewritten", fields)
  }

  async #conclude(id: string, remaining: 'waiting' | 'nothing'): Promise<void> {
    const { store, runtime } = this.#options
    if (this.#isClosed) return
    const isFound = this.#found.delete(id)
    if (remaining === 'nothing') {
      const regulation = await store.find({ id })
      // `RegulationWatch` finds the regulation again once the last archive is erased.
      if ((regulation?.archivesLeft?.length ?? 0) > 0) return
      this.#archives.forget(id)
      // Another process may already have finished it.
      if (regulation?.finishedAtMs !== null) return
      const nowMs = runtime.clock.nowMs()
      if (await store.finish({ id, nowMs })) {
        logFinished(runtime.log, { ...regulation, finishedAtMs: nowMs })
        return
      }
    }
    if (!isFound) this.#waiting.add(id)
  }

  async #eraseStore(
    id: string,
    { leavesTraces }: { readonly leavesTraces: boolean },
  ): Promise<Exclude<EraseResult, 'more'>> {
    const { store, runtime } = this.#options
    for (;;) {
      const nowMs = runtime.clock.nowMs()
      const remaining = await store.erase({ id, nowMs, rowsMax: rowsAtOnceMax, leavesTraces })
      await nextTurn()
      if (remaining !== 'more') return remaining
      if (this.#isClosed) return 'waiting'
    }
  }

  async #eraseArchivesOf(id: string): Promise<void> {
    if (!this.#isClosed) await this.#archives.erase(id, this.#ending.signal)
  }
}

/** Logs that a regulation was created, without the ids of its users. */
function logCreated(log: Log, { regulation, notifications }: PlannedRegulation): void {
  const { id, type, userIds, sourceIds } = regulation
  log.info('a regulation was created', {
    regulation: id,
    type,
    users: userIds.length,
    sources: sourceIds?.length ?? 'all',
    notifications: notifications.length,
  })
}

function logFinished(log: Log, regulation: Regulation): void {
  const { id, type, erased, archive } = regulation
  log.info('a regulation has finished', {
    regulation: id,
    type,
    status: overallStatus(regulation),
    pending: erased.pending,
    settled: erased.settled,
    members: erased.members,
    archived: archive?.events,
  })
}
