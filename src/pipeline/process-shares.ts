import {
  ClocksDisagreeError,
  isTemporary,
  membershipHoldsMs,
  heartbeatMs,
  processGoneMs,
  rateShareOf,
  shareOf,
  type BreakerNews,
  type DeliveringProcesses,
  type DispatchTarget,
  type Peers,
  type ProcessMembership,
} from '../delivery/index.ts'
import { messageOf, type Destination } from '../model/index.ts'
import { elapsedTime, type Runtime, type Timer } from '../runtime/index.ts'

/**
 * Why a process sends nothing.
 *
 * - `joining`: other processes may still be using its share
 * - `store`: the store doesn't answer
 * - `clocks`: the clocks of the process and the store disagree
 */
export type SendingHindrance = 'joining' | 'store' | 'clocks'

/** A destination id that stands for the store, to rank the processes that look after the store. */
const storeWide = ''

/** How much this process may send to each endpoint of a destination. */
export type EndpointShare = Required<Pick<DispatchTarget, 'concurrency' | 'rateShare'>>

interface ProcessSharesOptions {
  readonly processes: DeliveringProcesses
  /** Returns the destinations that this process sends to now; none if it only accepts events. */
  readonly destinationIds: () => readonly string[]
  /** Whether this process purges the store and may report its metrics. A service does; a command doesn't. */
  readonly looksAfterStore: boolean
  readonly runtime: Pick<Runtime, 'clock' | 'newId' | 'log'>
  /** Called whenever shares may have changed. */
  readonly changed: () => void
  /** Called with the error that made the store unusable. No heartbeats are sent afterwards. */
  readonly failed: (error: unknown) => void
}

const againMs = 500

const silences = {
  store: {
    begins: 'sending stops until the store answers: other processes may take over',
    ends: 'the store answers again: sending resumes',
  },
  clocks: {
    begins: 'sending stops until the clocks agree: other processes may take over',
    ends: 'the clocks agree again: sending resumes',
  },
} as const

/** The store's last answer to a heartbeat, and the time since that heartbeat. */
interface Answer {
  readonly memberships: ReadonlyMap<string, ProcessMembership>
  readonly elapsedMs: () => number
}

/**
 * Determines how much this process may send to each endpoint while several processes share a store. The store's
 * answers to heartbeats determine the shares. Without an answer for {@link membershipHoldsMs}, this process sends
 * nothing, because other processes may have taken over. It also sends nothing while its clock and the store's disagree.
 */
export class ProcessShares implements Peers {
  readonly #options: ProcessSharesOptions
  readonly #processId: string
  #answer: Answer | undefined
  #silence: keyof typeof silences | undefined
  /** Whether this process has been allowed to use all its shares at least once. Reset when heartbeats fail for long. */
  #hasJoined = false
  #isFirst = false
  #heartbeating: Promise<void> = Promise.resolve()
  #next: Timer | undefined
  #end: Timer | undefined
  #closed: Promise<void> | undefined

  constructor(options: ProcessSharesOptions) {
    this.#options = options
    this.#processId = options.runtime.newId()
  }

  /** Sends heartbeats from now on. Call it once. */
  start(): void {
    this.#heartbeating = this.#heartbeat()
  }

  shareOf({ id, concurrency }: Destination): EndpointShare {
    const membership = this.membershipOf(id)
    return {
      concurrency: this.maySend ? shareOf(concurrency, membership) : 0,
      rateShare: rateShareOf(concurrency, membership),
    }
  }

  membershipOf(destinationId: string): ProcessMembership | undefined {
    return this.#answer?.memberships.get(destinationId)
  }

  tell(news: BreakerNews): void {
    this.#options.processes.tell(news)
  }

  /** Whether this process may send now. Reads the clock, because the timer `#end` is late after a suspension. */
  get maySend(): boolean {
    return this.#answer !== undefined && this.#answer.elapsedMs() < membershipHoldsMs
  }

  get hindrance(): SendingHindrance | undefined {
    if (this.#answer === undefined) return this.#silence ?? 'joining'
    if (!this.maySend) return 'store'
    return this.#hasJoined ? undefined : 'joining'
  }

  /** Whether this process reports the store's metrics: only the first of the processes that maintain the store does. */
  get isFirst(): boolean {
    return this.#isFirst
  }

  /** Tells the other processes to take over at once. Call it when no request is in flight. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  get #sends(): boolean {
    return this.#options.destinationIds().length > 0
  }

  async #close(): Promise<void> {
    this.#next?.cancel()
    this.#end?.cancel()
    await this.#heartbeating
    this.#answer = undefined
    const { processes, runtime } = this.#options
    try {
      await processes.leave({ processId: this.#processId })
    } catch (error) {
      // Only debug, because other processes also notice the missing heartbeats, a little later.
      runtime.log.debug('cannot announce that this process is stopping', {
        error: messageOf(error),
      })
    }
  }

  async #heartbeat(): Promise<void> {
    const { clock } = this.#options.runtime
    const sentAtMs = clock.nowMs()
    const elapsedMs = elapsedTime(clock)
    const release = clock.hold()
    try {
      await this.#ask(elapsedMs)
      this.#plan(heartbeatMs - (clock.nowMs() - sentAtMs))
    } catch (error) {
      if (error instanceof ClocksDisagreeError) this.#fallSilent('clocks', error)
      if (isTemporary(error)) this.#plan(againMs)
      else if (this.#closed === undefined) this.#options.failed(error)
    } finally {
      release()
    }
  }

  async #ask(elapsedMs: () => number): Promise<void> {
    const { processes, looksAfterStore, runtime, changed } = this.#options
    const ids = this.#options.destinationIds()
    const destinationIds = looksAfterStore ? [storeWide, ...ids] : ids
    const answered = await processes.heartbeat({ processId: this.#processId, destinationIds })
    const memberships = new Map(
      answered.map((membership) => [membership.destinationId, membership]),
    )
    this.#isFirst = memberships.get(storeWide)?.rank === 0
    this.#reportProcesses(memberships.get(storeWide))
    // A destination that is added later doesn't set the process back to `joining`.
    this.#hasJoined ||= answered.every(hasRoom)
    this.#answer = { memberships, elapsedMs }
    if (this.#closed !== undefined) return
    this.#end?.cancel()
    this.#end = runtime.clock.schedule(membershipHoldsMs - elapsedMs(), () =>
      this.#fallSilent('store'),
    )
    if (this.#silence !== undefined && this.maySend) {
      if (this.#sends) runtime.log.warn(silences[this.#silence].ends)
      this.#silence = undefined
    }
    changed()
  }

  /** Logs how many processes share the store, if the number has changed. */
  #reportProcesses(membership: ProcessMembership | undefined): void {
    const before = this.membershipOf(storeWide)?.processes
    const now = membership?.processes
    if (before === undefined || now === before) return
    const message = 'the number of processes that share the store changed'
    this.#options.runtime.log.info(message, { before, now })
  }

  #plan(delayMs: number): void {
    if (this.#closed !== undefined) return
    // Limit the wait, because the clock may have been changed since the heartbeat.
    const waitMs = Math.min(Math.max(delayMs, 0), heartbeatMs)
    this.#next = this.#options.runtime.clock.schedule(waitMs, () => {
      this.#heartbeating = this.#heartbeat()
    })
  }

  #fallSilent(why: keyof typeof silences, error?: Error): void {
    if (this.#closed !== undefined) return
    const { runtime, changed } = this.#options
    this.#end?.cancel()
    // A process that never sends anything has nothing to report.
    if (this.#silence !== why && this.#sends) {
      runtime.log.warn(silences[why].begins, error && { error: error.message })
    }
    this.#silence = why
    this.#answer = undefined
    this.#hasJoined = false
    changed()
  }
}

/** Whether a process may use its share: it is alone, or has been a member long enough for all others to know it. */
function hasRoom({ destinationId, processes, memberMs }: ProcessMembership): boolean {
  if (destinationId === storeWide) return true
  return processes === 1 || memberMs >= processGoneMs
}
