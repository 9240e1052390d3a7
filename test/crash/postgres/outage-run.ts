import { setTimeout as pause } from 'node:timers/promises'
import { stopwatch } from '../../../src/runtime/index.ts'
import type { PostgresServer } from '../../support/postgres.ts'
import { connect, Installation, type InstallationOptions } from './installation.ts'
import type { SharedEvidence } from './shared-findings.ts'
import { TimeLapse } from './time-lapse.ts'

/**
 * Why a database cannot be used for a while.
 *
 * - `restarted`: the server crashes, and is started again
 * - `locked`: an idle session holds locks on tables
 * - `exhausted`: other clients hold all connections
 */
export type DatabaseOutage = 'restarted' | 'locked' | 'exhausted'

export interface OutageRunOptions extends InstallationOptions {
  /** The server to stop and start. */
  readonly server: PostgresServer
  /** The number of services that share it. */
  readonly processes: number
  /** The outages, in this order. */
  readonly outages: readonly DatabaseOutage[]
  /** Whether to release locks as soon as a service waits for them, and to end leases early. */
  readonly isHurried: boolean
}

/** How services recovered from an outage. */
export interface Recovery {
  readonly outage: DatabaseOutage
  /** How long it lasted, in milliseconds. */
  readonly lastedMs: number
  /** Posts that were refused with 503 during the outage. */
  readonly refused: number
  /** The time from its end until the first call was acknowledged, in milliseconds. */
  readonly acknowledgedMs: number
  /** The time from its end until the first webhook of a call acknowledged since then, in milliseconds. */
  readonly deliveredMs: number
}

export interface OutageResult extends SharedEvidence {
  readonly recoveries: readonly Recovery[]
  /** Posts that got no answer. */
  readonly unanswered: number
  readonly durationMs: number
}

const pollEveryMs = 20
/** Concurrent attempts to take connections. */
const takersAtOnce = 4

/**
 * Makes a database unavailable to services under load, again and again.
 *
 * @throws Error if there is no progress, or if a process ends
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
      await installation.unlessBroken(installation.tally.reached(`${number} ready`, 1))
    }
    const loaded = installation.load()
    const recoveries: Recovery[] = []
    for (const outage of outages)
      recoveries.push(await installation.unlessBroken(this.#recoverFrom(outage)))
    installation.allowEnd()
    await installation.unlessBroken(loaded)
    if (isHurried) await new TimeLapse(installation).endLeases()
    await installation.idle()
    return {
      ...(await installation.evidence()),
      recoveries,
      unanswered: installation.tally.count('unanswered'),
      durationMs: elapsedMs(),
    }
  }

  async #recoverFrom(outage: DatabaseOutage): Promise<Recovery> {
    const { tally } = this.#installation
    const { deliveries, outages } = this.#options
    // The outages are spread evenly over the load.
    await tally.happened('answered', Math.floor(deliveries / (outages.length + 1)))
    const refusedBefore = tally.count('refused 503')
    const lastsMs = stopwatch()
    this.#installation.postsAnyway = true
    const end = await this.#begin(outage)
    this.#installation.postsAnyway = false
    await end()
    const lastedMs = lastsMs()
    const sinceEndMs = stopwatch()
    this.#installation.forgetRecent()
    const [acknowledgedMs, deliveredMs] = await Promise.all(
      ['acknowledged', 'answered recent'].map(async (what) => {
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

  /** Resolves once services have noticed, with a function that ends the outage. */
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
    await (isHurried ? this.#untilLockAwaited() : refused)
    return () => other.end()
  }

  async #untilLockAwaited(): Promise<void> {
    const sql = 'SELECT FROM pg_locks WHERE NOT granted'
    while ((await this.#installation.query(sql)).length === 0) await pause(pollEveryMs)
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
        if (other === undefined) await pause(pollEveryMs)
        else others.push(other)
      }
    }
    // Several at once, until a post is refused, so that services cannot regain lost connections.
    const takers = Array.from({ length: takersAtOnce }, take)
    while (
      !isNoticed.signal.aborted ||
      (await others[0]?.query(`SELECT ${services}`))?.rowCount !== 0
    ) {
      await others[0]?.query(`SELECT pg_terminate_backend(pid) ${services}`)
      await pause(pollEveryMs)
    }
    isOver.abort()
    await Promise.all([...takers, noticed])
    return async () => {
      await Promise.all(others.map((other) => other.end()))
    }
  }
}
