import { stopwatch } from '../../../src/runtime/index.ts'
import { Installation, type InstallationOptions } from './installation.ts'
import type { ServiceProcess } from './service-process.ts'
import type { SharedEvidence } from './shared-findings.ts'
import { TimeLapse } from './time-lapse.ts'

/** Kills a process right after its `count`-th event of this kind. */
export interface SharedKill {
  /** Which of the two processes that get killed: 0 or 1. */
  readonly slot: number
  /** The event; `ready` is the end of its start. */
  readonly event: 'ready' | 'acknowledged' | 'requested' | 'answered'
  readonly count: number
}

export interface KillRunOptions extends InstallationOptions {
  /** The kills, in this order. */
  readonly kills: readonly SharedKill[]
  /**
   * Whether to skip the time that processes wait for leases and heartbeats, which otherwise is about a
   * minute.
   */
  readonly isHurried: boolean
}

export interface KillResult extends SharedEvidence {
  /** Deliveries with more than one success in the log. */
  readonly loggedTwice: number
  /** The number of webhooks that endpoints accepted, by process. */
  readonly deliveredBy: ReadonlyMap<number, number>
  /** Posts that got no answer, and posts that were refused. */
  readonly unanswered: number
  readonly refused: number
  /** The time from the last kill until nothing was pending, in milliseconds. */
  readonly idleMs: number
  readonly durationMs: number
}

const slots = 2

/**
 * Runs three services on one database, and kills two of them again and again.
 *
 * @throws Error if there is no progress, or if a process ends that should not
 */
export async function runSharedKills(options: KillRunOptions): Promise<KillResult> {
  const installation = new Installation(options)
  await installation.open()
  try {
    return await new KillRun(installation, options).result()
  } finally {
    await installation.end()
  }
}

class KillRun {
  readonly #installation: Installation
  readonly #options: KillRunOptions
  readonly #lapse: TimeLapse
  readonly #processes: ServiceProcess[] = []
  /** The processes that were started since the last kill. */
  #newcomers: ServiceProcess[] = []

  constructor(installation: Installation, options: KillRunOptions) {
    this.#installation = installation
    this.#options = options
    this.#lapse = new TimeLapse(installation)
  }

  async result(): Promise<KillResult> {
    const elapsedMs = stopwatch()
    const installation = this.#installation
    const { tally } = installation
    // The first process is alone at first, so it sends at once. The last one is never killed.
    for (let slot = 0; slot <= slots; slot++) this.#processes[slot] = await this.#startReady()
    this.#newcomers = this.#processes.slice(1)
    const loaded = installation.load()
    const { kills } = this.#options
    for (const [index, kill] of kills.entries()) await this.#kill(kill, kills.length - index - 1)
    installation.allowEnd()
    const sinceKillMs = stopwatch()
    await installation.unlessBroken(loaded)
    if (this.#options.isHurried) await this.#lapse.endLeases()
    await installation.idle()
    const idleMs = sinceKillMs()
    const numbers = Array.from({ length: kills.length + slots + 1 }, (_, i) => i + 1)
    return {
      ...(await installation.evidence()),
      loggedTwice: await this.#loggedTwice(),
      deliveredBy: new Map(numbers.map((each) => [each, tally.count(`${each} answered`)])),
      unanswered: tally.count('unanswered'),
      refused: tally.count('refused 503'),
      idleMs,
      durationMs: elapsedMs(),
    }
  }

  async #kill({ slot, event, count }: SharedKill, killsLeft: number): Promise<void> {
    const installation = this.#installation
    const victim = this.#processes[slot]
    if (victim === undefined) throw new Error(`There is no process ${slot}`)
    await installation.unlessBroken(installation.tally.reached(`${victim.number} ${event}`, count))
    await victim.kill()
    if (!this.#options.isHurried) {
      this.#processes[slot] = await installation.start()
      return
    }
    await this.#lapse.takeOver(victim, this.#newcomers)
    if (killsLeft === 0) return
    const next = await this.#startReady()
    this.#processes[slot] = next
    this.#newcomers = [next]
  }

  async #startReady(): Promise<ServiceProcess> {
    const process = await this.#installation.start()
    if (this.#options.isHurried) await this.#lapse.meet(process)
    else
      await this.#installation.unlessBroken(
        this.#installation.tally.reached(`${process.number} ready`, 1),
      )
    return process
  }

  async #loggedTwice(): Promise<number> {
    const [row] = await this.#installation.query<{ count: string }>(
      `SELECT count(*) FROM (SELECT FROM (
          SELECT destination_id, delivery_id FROM evroute_requests WHERE outcome = 'success'
          UNION ALL
          SELECT destination_id, id FROM evroute_deliveries WHERE try_at IS NOT NULL) successes
        GROUP BY destination_id, delivery_id HAVING count(*) > 1) twice`,
    )
    return Number(row?.count)
  }
}
