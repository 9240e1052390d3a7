import { setTimeout as pause } from 'node:timers/promises'
import { processGoneMs } from '../../../src/delivery/index.ts'
import { systemCode } from '../../../src/model/index.ts'
import type { Installation } from './installation.ts'
import type { ServiceProcess } from './service-process.ts'

/** How the database identifies a process. */
interface Identity {
  readonly processId: string
  readonly holder: number
}

const pollEveryMs = 50
/** PostgreSQL's error code. */
const deadlockDetected = '40P01'
const lock = 'SELECT pg_advisory_xact_lock(28559206516094054)'

/**
 * Skips the time for which processes wait: until a killed process counts as gone, until a new one may send,
 * and until leases end. It sets times in the database back, but only where waiting would have had the
 * same effect.
 */
export class TimeLapse {
  readonly #installation: Installation
  readonly #identities = new Map<ServiceProcess, Identity>()

  constructor(installation: Installation) {
    this.#installation = installation
  }

  /** Looks up the identity of a process that has just started; call it before the next one starts. */
  async meet(process: ServiceProcess): Promise<void> {
    const { tally } = this.#installation
    await this.#installation.unlessBroken(tally.reached(`${process.number} ready`, 1))
    const [row] = await this.#installation.query<{ holder: string }>(
      'SELECT last_value AS holder FROM evroute_holders',
    )
    this.#identities.set(process, {
      processId: await this.#installation.unlessBroken(this.#newcomer()),
      holder: Number(row?.holder),
    })
  }

  /**
   * Lets newcomers take over from a killed process with their next heartbeats. An older process still counts
   * the killed one until its own next heartbeat, so that they never send too much together.
   */
  async takeOver(dead: ServiceProcess, newcomers: readonly ServiceProcess[]): Promise<void> {
    const ids = newcomers.flatMap((each) => this.#identities.get(each)?.processId ?? [])
    const id = this.#identities.get(dead)?.processId ?? ''
    const now = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
    const literals = ids.map((each) => `'${each}'`).join(', ')
    await this.#installation.query(`BEGIN; ${lock};
      UPDATE evroute_live_processes SET beaten_at = ${now} - ${processGoneMs} WHERE process_id = '${id}';
      UPDATE evroute_live_processes SET version = version - ${processGoneMs}, destinations = (
          SELECT jsonb_object_agg(key, jsonb_build_array((value ->> 0)::bigint - ${processGoneMs}, value -> 1))
          FROM jsonb_each(destinations))
        WHERE process_id IN (${literals}); COMMIT`)
    this.#identities.delete(dead)
    await this.endLeases()
  }

  /**
   * Ends the leases of all processes except running ones passed to {@link meet}. With only one process, all
   * leases may end, because only that process can claim the deliveries.
   */
  async endLeases(): Promise<void> {
    const holders = [...this.#identities.values()].map(({ holder }) => holder)
    const sql = `UPDATE evroute_deliveries SET leased_until = 0
      WHERE lease_holder IS NOT NULL AND lease_holder <> ALL ($1::bigint[])`
    // Services update the same rows in a different order, so this may be aborted as a deadlock.
    while (!(await this.#changes(sql, [holders]))) await pause(pollEveryMs)
  }

  async #changes(sql: string, values: readonly unknown[]): Promise<boolean> {
    try {
      await this.#installation.query(sql, values)
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
      const [row] = await this.#installation.query<{ process_id: string }>(sql, [known])
      if (row !== undefined) return row.process_id
      await pause(pollEveryMs)
    }
  }
}
