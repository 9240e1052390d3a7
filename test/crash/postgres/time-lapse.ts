import { setTimeout as pause } from 'node:timers/promises'
import { processGoneMs } from '../../../src/delivery/index.ts'
import { systemCode } from '../../../src/model/index.ts'
import type { Installation } from './installation.ts'
import type { ServiceProcess } from './service-process.ts'

/** How a process is known in the database. */
interface Identity {
  readonly processId: string
  readonly holder: number
}

const lookEveryMs = 50
/** What PostgreSQL calls it. */
const deadlockDetected = '40P01'
const lock = 'SELECT pg_advisory_xact_lock(28559206516094054)'

/**
 * Lets time go by for what the processes of a database wait for: that one which died is gone, that one
 * which came has waited for long enough, and that leases end. It changes the times in the database as
 * they would be later, and only those of which nothing else could come then.
 */
export class TimeLapse {
  readonly #installation: Installation
  readonly #identities = new Map<ServiceProcess, Identity>()

  constructor(installation: Installation) {
    this.#installation = installation
  }

  /** Learns who a process is that has just come, before another one does. */
  async meet(process: ServiceProcess): Promise<void> {
    const { tally } = this.#installation
    await this.#installation.or(tally.reached(`${process.number} ready`, 1))
    const [row] = await this.#installation.ask<{ holder: string }>(
      'SELECT last_value AS holder FROM evroute_holders',
    )
    this.#identities.set(process, {
      processId: await this.#installation.or(this.#newcomer()),
      holder: Number(row?.holder),
    })
  }

  /**
   * One is dead, and newcomers take its place with their next heartbeats. Whoever is there for long counts the
   * dead one in until it beats again, so that all of them together never send too much.
   */
  async takeOver(dead: ServiceProcess, newcomers: readonly ServiceProcess[]): Promise<void> {
    const ids = newcomers.flatMap((each) => this.#identities.get(each)?.processId ?? [])
    const id = this.#identities.get(dead)?.processId ?? ''
    const now = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
    const literals = ids.map((each) => `'${each}'`).join(', ')
    await this.#installation.ask(`BEGIN; ${lock};
      UPDATE evroute_live_processes SET beaten_at = ${now} - ${processGoneMs} WHERE process_id = '${id}';
      UPDATE evroute_live_processes SET version = version - ${processGoneMs}, destinations = (
          SELECT jsonb_object_agg(key, jsonb_build_array((value ->> 0)::bigint - ${processGoneMs}, value -> 1))
          FROM jsonb_each(destinations))
        WHERE process_id IN (${literals}); COMMIT`)
    this.#identities.delete(dead)
    await this.endLeases()
  }

  /**
   * The leases of all but the processes that live end: of those that were met. Where there is only one
   * process all may end, because what it has in hand is given to nobody but itself.
   */
  async endLeases(): Promise<void> {
    const holders = [...this.#identities.values()].map(({ holder }) => holder)
    const sql = `UPDATE evroute_deliveries SET leased_until = 0
      WHERE lease_holder IS NOT NULL AND lease_holder <> ALL ($1::bigint[])`
    // Services change the same rows, in another order: of two who wait for each other one is ended.
    while (!(await this.#changes(sql, [holders]))) await pause(lookEveryMs)
  }

  async #changes(sql: string, values: readonly unknown[]): Promise<boolean> {
    try {
      await this.#installation.ask(sql, values)
      return true
    } catch (error) {
      if (systemCode(error) === deadlockDetected) return false
      throw error
    }
  }

  async #newcomer(): Promise<string> {
    const known = [...this.#identities.values()].map(({ processId }) => processId)
    const sql = 'SELECT process_id FROM evroute_live_processes WHERE process_id <> ALL ($1) LIMIT 1'
    for (;;) {
      const [row] = await this.#installation.ask<{ process_id: string }>(sql, [known])
      if (row !== undefined) return row.process_id
      await pause(lookEveryMs)
    }
  }
}
