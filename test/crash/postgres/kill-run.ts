import { stopwatch } from '../../../src/runtime/index.ts'
import { Installation, type InstallationOptions } from './installation.ts'
import type { ServiceProcess } from './service-process.ts'
import type { SharedEvidence } from './shared-findings.ts'
import { TimeLapse } from './time-lapse.ts'

/** One of three processes is killed right after something happened to it for that time. */
export interface SharedKill {
  /** Which of the two that do not live on: 0 or 1. */
  readonly slot: number
  /** What happened: `ready` is the end of its start. */
  readonly event: 'ready' | 'acknowledged' | 'requested' | 'answered'
  readonly count: number
}

/** What a run is made of. */
export interface KillRunOptions extends InstallationOptions {
  /** Whom to kill, one after the other. */
  readonly kills: readonly SharedKill[]
  /** Whether time is let go by for what the processes wait for, which takes them a minute otherwise. */
  readonly isHurried: boolean
}

/** What a run came to. */
export interface KillResult extends SharedEvidence {
  /** Deliveries of which more than one success is in the log. */
  readonly loggedTwice: number
  /** By process, the webhooks that were taken from it. */
  readonly takenFrom: ReadonlyMap<number, number>
  /** Posts that nobody answered, and posts that were refused. */
  readonly unanswered: number
  readonly refused: number
  /** From the last kill until nothing was pending, in milliseconds. */
  readonly idleMs: number
  /** All of it, in milliseconds. */
  readonly durationMs: number
}

const slots = 2

/**
 * Lets three services deliver from one database, and kills two of them over and over.
 *
 * @throws Error when nothing new happens any more, or when a process ends that was not to
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
  readonly #mortals: ServiceProcess[] = []
  /** What has come since the last kill. */
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
    // The first one is alone for a moment, and sends at once; the last one lives on.
    for (let slot = 0; slot <= slots; slot++) this.#mortals[slot] = await this.#startReady()
    this.#newcomers = this.#mortals.slice(1)
    const loaded = installation.load()
    const { kills } = this.#options
    for (const [place, kill] of kills.entries()) await this.#kill(kill, kills.length - place - 1)
    installation.mayEnd()
    const sinceKillMs = stopwatch()
    await installation.or(loaded)
    if (this.#options.isHurried) await this.#lapse.endLeases()
    await installation.idle()
    const idleMs = sinceKillMs()
    const numbers = Array.from({ length: kills.length + slots + 1 }, (_, i) => i + 1)
    return {
      ...(await installation.evidence()),
      loggedTwice: await this.#loggedTwice(),
      takenFrom: new Map(numbers.map((each) => [each, tally.count(`${each} answered`)])),
      unanswered: tally.count('unanswered'),
      refused: tally.count('refused 503'),
      idleMs,
      durationMs: elapsedMs(),
    }
  }

  async #kill({ slot, event, count }: SharedKill, killsLeft: number): Promise<void> {
    const installation = this.#installation
    const victim = this.#mortals[slot]
    if (victim === undefined) throw new Error(`There is no process ${slot}`)
    await installation.or(installation.tally.reached(`${victim.number} ${event}`, count))
    await victim.kill()
    if (!this.#options.isHurried) {
      this.#mortals[slot] = await installation.start()
      return
    }
    await this.#lapse.takeOver(victim, this.#newcomers)
    if (killsLeft === 0) return
    const next = await this.#startReady()
    this.#mortals[slot] = next
    this.#newcomers = [next]
  }

  async #startReady(): Promise<ServiceProcess> {
    const process = await this.#installation.start()
    if (this.#options.isHurried) await this.#lapse.meet(process)
    else await this.#installation.or(this.#installation.tally.reached(`${process.number} ready`, 1))
    return process
  }

  async #loggedTwice(): Promise<number> {
    const [row] = await this.#installation.ask<{ count: string }>(
      `SELECT count(*) FROM (SELECT FROM (
          SELECT destination_id, delivery_id FROM evroute_requests WHERE outcome = 'success'
          UNION ALL
          SELECT destination_id, id FROM evroute_deliveries WHERE try_at IS NOT NULL) successes
        GROUP BY destination_id, delivery_id HAVING count(*) > 1) twice`,
    )
    return Number(row?.count)
  }
}
