import { ClocksDisagreeError } from '../../delivery/index.ts'
import { stopwatch, systemClock, type Clock } from '../../runtime/index.ts'
import { sql } from '../sql.ts'
import type { Session } from './database.ts'

/** Maximum difference between the clock of a process and the server's. */
const differenceMaxMs = 5_000

/** How long a reading of the server's clock is valid. Each heartbeat makes a new one. */
const knownForMs = 10_000

/** A time that the server's clock showed between the question and the answer. */
interface Reading {
  readonly serverMs: number
  readonly roundTripMs: number
  /** Returns the time since the server was asked, measured by a monotonic clock. */
  readonly sinceAskedMs: () => number
}

/**
 * Compares the clock of this process with the server's, which all processes share. A process whose clock is ahead
 * would treat other processes' leases as expired, and purge rows too early. A stopwatch measures the time since the
 * last reading, so that a change of this process's clock shows at once.
 */
export class ServerClock {
  readonly #session: Session
  readonly #clock: Pick<Clock, 'nowMs'>
  #reading: Reading | undefined
  #asking: Promise<void> | undefined

  constructor(session: Session, clock: Pick<Clock, 'nowMs'> = systemClock) {
    this.#session = session
    this.#clock = clock
  }

  /**
   * Runs work that depends on the time: at once if the clocks are known to agree, otherwise after
   * asking the server.
   *
   * @throws ClocksDisagreeError if they differ by more than 5 s; EvrouteError `store_unusable` if the
   * server cannot be asked
   */
  inAgreement<Result>(work: () => Promise<Result>): Promise<Result> {
    const ageMs = this.#reading?.sinceAskedMs() ?? Infinity
    const isKnown = ageMs < knownForMs && this.#difference().isSmall
    return isKnown ? work() : this.ask().then(work)
  }

  /** Asks the server for its time, once for concurrent callers. Throws like {@link ServerClock.inAgreement}. */
  ask(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<void> {
    const sinceAskedMs = stopwatch()
    const [row] = await this.#session.rows<{ readonly now: number }>(
      sql`SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`,
    )
    this.learn(row?.now ?? 0, sinceAskedMs)
  }

  /**
   * Records a reading of the server's clock, in milliseconds since 1970.
   *
   * @param sinceAskedMs - a stopwatch, started before the server was asked
   * @throws ClocksDisagreeError
   */
  learn(serverMs: number, sinceAskedMs: () => number): void {
    this.#reading = { serverMs, sinceAskedMs, roundTripMs: sinceAskedMs() }
    const { isSmall, ownMs, latestMs } = this.#difference()
    if (isSmall) return
    const [own, server] = [ownMs, latestMs].map((atMs) => new Date(atMs).toISOString())
    throw new ClocksDisagreeError({
      message: `Cannot use the store ${this.#session.name}: the clock of this machine says ${own}, but the server's says ${server}`,
      hint: 'Set the clock that is wrong, and keep both in sync with NTP. They may differ by at most 5 s.',
    })
  }

  #difference(): { readonly isSmall: boolean; readonly ownMs: number; readonly latestMs: number } {
    const { serverMs = 0, roundTripMs = 0, sinceAskedMs } = this.#reading ?? {}
    const latestMs = serverMs + (sinceAskedMs?.() ?? 0)
    const earliestMs = latestMs - roundTripMs
    const ownMs = this.#clock.nowMs()
    const isSmall = ownMs >= earliestMs - differenceMaxMs && ownMs <= latestMs + differenceMaxMs
    return { isSmall, ownMs, latestMs }
  }
}
