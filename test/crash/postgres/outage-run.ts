import { setTimeout as pause } from 'node:timers/promises'
import { stopwatch } from '../../../src/runtime/index.ts'
import type { PostgresServer } from '../../support/postgres.ts'
import { connect, Installation, type InstallationOptions } from './installation.ts'
import type { SharedEvidence } from './shared-findings.ts'
import { TimeLapse } from './time-lapse.ts'

/**
 * What keeps a database from being used for a while.
 *
 * - `restarted`: the server ends as after a crash, and is started again
 * - `locked`: somebody else holds locks on tables, and does nothing
 * - `exhausted`: others have all the connections that there may be
 */
export type DatabaseOutage = 'restarted' | 'locked' | 'exhausted'

/** What a run is made of. */
export interface OutageRunOptions extends InstallationOptions {
  /** Is stopped and started. */
  readonly server: PostgresServer
  /** Services that share it. */
  readonly processes: number
  /** What happens, one after the other. */
  readonly outages: readonly DatabaseOutage[]
  /** Whether locks are held for no longer than until somebody waits for them, and leases end early. */
  readonly isHurried: boolean
}

/** How services got over an outage. */
export interface Recovery {
  readonly outage: DatabaseOutage
  /** How long it lasted, in milliseconds. */
  readonly lastedMs: number
  /** Posts that were refused with 503 meanwhile. */
  readonly refused: number
  /** From its end to the first call that was acknowledged, in milliseconds. */
  readonly acknowledgedMs: number
  /** From its end to the first webhook of a call that was acknowledged since, in milliseconds. */
  readonly deliveredMs: number
}

/** What a run came to. */
export interface OutageResult extends SharedEvidence {
  readonly recoveries: readonly Recovery[]
  /** Posts that nobody answered. */
  readonly unanswered: number
  /** All of it, in milliseconds. */
  readonly durationMs: number
}

const lookEveryMs = 20
/** So many of those who take connections try at the same time. */
const takersAtOnce = 4

/**
 * Takes a database away from services under load, again and again.
 *
 * @throws Error when nothing new happens any more, or when a process ends
 */
export async function runOutages(options: OutageRunOptions): Promise<OutageResult> {
  const installation = new Installation(options)
  await installation.open()
  try {
    return await new OutageRun(installation, options).result()
  } finally {
    await installation.end()
  }
}

class OutageRun {
  readonly #installation: Installation
  readonly #options: OutageRunOptions

  constructor(installation: Installation, options: OutageRunOptions) {
    this.#installation = installation
    this.#options = options
  }

  async result(): Promise<OutageResult> {
    const elapsedMs = stopwatch()
    const installation = this.#installation
    const { processes, outages, isHurried } = this.#options
    for (let count = 1; count <= processes; count++) {
      const { number } = await installation.start()
      await installation.or(installation.tally.reached(`${number} ready`, 1))
    }
    const loaded = installation.load()
    const recoveries: Recovery[] = []
    for (const outage of outages) recoveries.push(await installation.or(this.#outlive(outage)))
    installation.mayEnd()
    await installation.or(loaded)
    if (isHurried) await new TimeLapse(installation).endLeases()
    await installation.idle()
    return {
      ...(await installation.evidence()),
      recoveries,
      unanswered: installation.tally.count('unanswered'),
      durationMs: elapsedMs(),
    }
  }

  async #outlive(outage: DatabaseOutage): Promise<Recovery> {
    const { tally } = this.#installation
    const { deliveries, outages } = this.#options
    // They come evenly over the load.
    await tally.happened('answered', Math.floor(deliveries / (outages.length + 1)))
    const refusedBefore = tally.count('refused 503')
    const lastsMs = stopwatch()
    this.#installation.postsAnyway = true
    const end = await this.#begin(outage)
    this.#installation.postsAnyway = false
    await end()
    const lastedMs = lastsMs()
    const sinceEndMs = stopwatch()
    this.#installation.beginAfresh()
    const [acknowledgedMs, deliveredMs] = await Promise.all(
      ['acknowledged', 'answered afresh'].map(async (what) => {
        await tally.happened(what)
        return sinceEndMs()
      }),
    )
    return {
      outage,
      lastedMs,
      refused: tally.count('refused 503') - refusedBefore,
      acknowledgedMs: acknowledgedMs ?? NaN,
      deliveredMs: deliveredMs ?? NaN,
    }
  }

  /** Resolves once services have noticed, with what ends it. */
  #begin(outage: DatabaseOutage): Promise<() => Promise<void>> {
    switch (outage) {
      case 'restarted':
        return this.#restarted()
      case 'locked':
        return this.#locked()
      case 'exhausted':
        return this.#exhausted()
    }
  }

  async #restarted(): Promise<() => Promise<void>> {
    const { server } = this.#options
    const refused = this.#installation.tally.happened('refused 503')
    await server.stop('crash')
    await refused
    return () => server.restart()
  }

  async #locked(): Promise<() => Promise<void>> {
    const { store, isHurried } = this.#options
    const refused = this.#installation.tally.happened('refused 503')
    const other = await connect(store)
    await other.query('BEGIN')
    for (const table of ['evroute_deliveries', 'evroute_live_processes']) {
      await other.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    }
    await (isHurried ? this.#somebodyWaits() : refused)
    return () => other.end()
  }

  async #somebodyWaits(): Promise<void> {
    const sql = 'SELECT FROM pg_locks WHERE NOT granted'
    while ((await this.#installation.ask(sql)).length === 0) await pause(lookEveryMs)
  }

  async #exhausted(): Promise<() => Promise<void>> {
    const { store } = this.#options
    const others = [await connect(store)]
    const services = "FROM pg_stat_activity WHERE application_name = 'evroute'"
    const isOver = new AbortController()
    const isNoticed = new AbortController()
    const noticed = this.#installation.tally.happened('refused 503').then(() => isNoticed.abort())
    const take = async (): Promise<void> => {
      while (!isOver.signal.aborted) {
        const other = await connect(store).catch(() => undefined)
        if (other === undefined) await pause(lookEveryMs)
        else others.push(other)
      }
    }
    // Several at once, and until somebody was refused, so that services do not get back what they lose.
    const takers = Array.from({ length: takersAtOnce }, take)
    while (
      !isNoticed.signal.aborted ||
      (await others[0]?.query(`SELECT ${services}`))?.rowCount !== 0
    ) {
      await others[0]?.query(`SELECT pg_terminate_backend(pid) ${services}`)
      await pause(lookEveryMs)
    }
    isOver.abort()
    await Promise.all([...takers, noticed])
    return async () => {
      await Promise.all(others.map((other) => other.end()))
    }
  }
}
