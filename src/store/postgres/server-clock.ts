import { ClocksDisagreeError } from '../../delivery/index.ts'
import { stopwatch, systemClock, type Clock } from '../../runtime/index.ts'
import type { Session } from './database.ts'

/** What the clocks of a process and of the server may differ by. */
const differenceMaxMs = 5_000

/** For so long it is known what the server's clock says without asking it again. */
const knownForMs = 10_000

/** From then on it is asked in the background, so that what goes by time seldom has to wait for it. */
const askAgainAfterMs = 5_000

/** What the server's clock has said. */
interface Reading {
  readonly serverMs: number
  /** From asking to the answer: it may have said so at any moment between the two. */
  readonly roundTripMs: number
  /** The time since it was asked, whatever any clock was set to meanwhile. */
  readonly sinceAskedMs: () => number
}

/**
 * Compares the clock of this process with that of the server, which all processes share. By a clock that is
 * ahead, what others have in hand seems left behind by them, and what is to be kept seems old.
 *
 * A clock that is set to another time meanwhile shows at once: real time goes on beside it.
 */
export class ServerClock {
  readonly #storeName: string
  readonly #clock: Pick<Clock, 'nowMs'>
  #reading: Reading | undefined
  readonly #asking = new Map<Session, Promise<void>>()

  /**
   * @param storeName - how people may know the store
   * @param clock - that of this process; the system's by default
   */
  constructor(storeName: string, clock: Pick<Clock, 'nowMs'> = systemClock) {
    this.#storeName = storeName
    this.#clock = clock
  }

  /**
   * Does what goes by time: at once where the clocks are known to agree, or once the server has been asked.
   *
   * @param session - whom to ask
   * @throws ClocksDisagreeError where they differ by more than 5 s; EvrouteError `store_unusable` where
   * the server cannot be asked
   */
  inAgreement<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
    const ageMs = this.#reading?.sinceAskedMs() ?? Infinity
    if (ageMs >= knownForMs || !this.#difference().isSmall) return this.ask(session).then(work)
    if (ageMs >= askAgainAfterMs) this.ask(session).catch(() => undefined)
    return work()
  }

  /**
   * Asks the server. Those who ask the same session at once share the answer.
   *
   * @throws what {@link ServerClock.inAgreement} does
   */
  ask(session: Session): Promise<void> {
    const asking =
      this.#asking.get(session) ?? this.#ask(session).finally(() => this.#asking.delete(session))
    this.#asking.set(session, asking)
    return asking
  }

  async #ask(session: Session): Promise<void> {
    const sinceAskedMs = stopwatch()
    const sql = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now'
    const [row] = await session.rows<{ readonly now: number }>({ sql, values: [] })
    this.learn(row?.now ?? 0, sinceAskedMs)
  }

  /**
   * Learns what the server's clock said, in milliseconds since 1970.
   *
   * @param sinceAskedMs - began when it was asked
   * @throws ClocksDisagreeError
   */
  learn(serverMs: number, sinceAskedMs: () => number): void {
    this.#reading = { serverMs, sinceAskedMs, roundTripMs: sinceAskedMs() }
    const { isSmall, ownMs, latestMs } = this.#difference()
    if (isSmall) return
    const [own, server] = [ownMs, latestMs].map((atMs) => new Date(atMs).toISOString())
    throw new ClocksDisagreeError({
      message: `Cannot use the store ${this.#storeName}: the clock of this machine says ${own}, that of the server ${server}`,
      hint: 'Set the one that is wrong, and let NTP keep both: they may differ by 5 s at the most.',
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
