import type {
  CreateRegulationRequest,
  EraseRequest,
  EraseResult,
  NoteArchiveRequest,
  Regulation,
  RegulationsRequest,
  RegulationStore,
} from '../../privacy/index.ts'
import type { Database } from './database.ts'
import type { DeliveryQueue } from './delivery-queue.ts'
import type { OnlineSteps } from './online-steps.ts'
import { ErasureSteps, noteVacuumed } from './erasure-steps.ts'
import { deliveriesOf, reserveIds } from './regulation-notifications.ts'
import { RegulationRows } from './regulation-rows.ts'
import { createRegulation, finishRegulation, noteArchive } from './regulation-writer.ts'

/** What rows of users were in; the first have the most of them. */
const erasedTables = [
  'evroute_messages',
  'evroute_deliveries',
  'evroute_requests',
  'evroute_seen',
  'evroute_members',
]

/**
 * Keeps regulations in the database of the deliveries that they cause and erase.
 *
 * How far an erasure has come is in the database: any process goes on from there, one at a time for
 * each regulation, and to another one that is `waiting`. A delivery is given out until its lease ends,
 * by time where the process that has it died.
 *
 * PostgreSQL keeps rows that were erased in its files until VACUUM comes by and their pages are written
 * over. At the end of an erasure VACUUM is asked for, for half a minute per table; where that is not
 * permitted or not enough, autovacuum does it later. Replicas, backups and archived WAL have what was
 * there until the operator lets them go.
 */
export class PostgresRegulations implements RegulationStore {
  readonly #database: Database
  readonly #queue: DeliveryQueue
  readonly #onlineSteps: OnlineSteps
  readonly #rows: RegulationRows
  readonly #steps = new ErasureSteps()

  constructor(
    database: Database,
    parts: {
      readonly queue: DeliveryQueue
      readonly reading: Database
      readonly onlineSteps: OnlineSteps
    },
  ) {
    this.#database = database
    this.#queue = parts.queue
    this.#onlineSteps = parts.onlineSteps
    this.#rows = new RegulationRows(parts.reading)
  }

  async create(request: CreateRegulationRequest): Promise<void> {
    const deliveries = deliveriesOf(request.notifications)
    const afterId =
      deliveries === 0
        ? 0
        : await this.#database.change((session) => reserveIds(session, deliveries))
    await this.#database.change((session) => createRegulation(session, request, afterId))
    if (deliveries > 0) this.#queue.announce()
  }

  async erase({ id, nowMs, rowsMax }: EraseRequest): Promise<EraseResult> {
    // Until then, requests are there that cannot be found through their deliveries.
    if (!this.#onlineSteps.isComplete) return 'waiting'
    let rowsLeft = rowsMax
    while (rowsLeft > 0) {
      const request = { id, nowMs, rowsMax: rowsLeft, own: this.#queue.own() }
      const step = await this.#database.change((session) => this.#steps.step(session, request))
      if (step.kind === 'waiting' || step.kind === 'nothing') return step.kind
      if (step.kind === 'more') rowsLeft -= step.rows
      else await this.#leaveNoTraces(step.number)
    }
    return 'more'
  }

  noteArchive(request: NoteArchiveRequest): Promise<void> {
    return this.#database.change((session) => noteArchive(session, request))
  }

  async finish({ id, nowMs }: { readonly id: string; readonly nowMs: number }): Promise<void> {
    const regulation = await this.#rows.find({ id })
    if (regulation !== undefined) await finishRegulation(this.#database, regulation, nowMs)
  }

  find(request: { readonly id: string }): Promise<Regulation | undefined> {
    return this.#rows.find(request)
  }

  list(request: RegulationsRequest): Promise<readonly Regulation[]> {
    return this.#rows.list(request)
  }

  async #leaveNoTraces(number: number): Promise<void> {
    for (const table of erasedTables) {
      const sql = `VACUUM (SKIP_LOCKED) ${table}`
      await this.#database.rows({ sql, values: [] }).catch(() => undefined)
    }
    await noteVacuumed(this.#database, number)
  }
}
