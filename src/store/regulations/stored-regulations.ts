import type {
  CreateRegulationRequest,
  EraseRequest,
  EraseResult,
  NoteArchiveRequest,
  RegulationStore,
} from '../../privacy/index.ts'
import { ErasureSteps } from './erasure-steps.ts'
import type { SqlDatabase } from '../sql.ts'
import type { ErasureEngine } from './regulation-engine.ts'
import { RegulationRows } from './regulation-rows.ts'
import { createRegulation, finishRegulation, noteArchive } from './regulation-writer.ts'

/**
 * Keeps regulations in the database of the deliveries that they cause and erase.
 *
 * The progress of an erasure is in the database, so any process can continue it; only one at a time
 * does. After the rows are erased the engine cleans its files. Only then does the store count as
 * erased.
 */
export class StoredRegulations extends RegulationRows implements RegulationStore {
  readonly #engine: ErasureEngine
  readonly #steps: ErasureSteps

  /** @param reading - the database for reads; the engine's own by default */
  constructor(engine: ErasureEngine, reading: SqlDatabase = engine.database) {
    super(reading)
    this.#engine = engine
    this.#steps = new ErasureSteps(engine)
  }

  async create(request: CreateRegulationRequest): Promise<void> {
    const { database, reserveIds, announce } = this.#engine
    const { notifications } = request
    const deliveries = notifications.reduce((sum, event) => sum + event.deliveries.length, 0)
    const reservedAfterId =
      deliveries === 0 || reserveIds === undefined
        ? 0
        : await database.change(() => reserveIds(deliveries))
    await database.change(() => createRegulation(this.#engine, request, reservedAfterId))
    if (deliveries > 0) announce()
  }

  async erase({ id, nowMs, rowsMax, leavesTraces }: EraseRequest): Promise<EraseResult> {
    const { database, isReady, leaveNoTraces } = this.#engine
    if (!isReady()) return 'waiting'
    let rowsLeft = rowsMax
    while (rowsLeft > 0) {
      const request = { id, nowMs, rowsMax: rowsLeft }
      const step = await database.change(() => this.#steps.step(request))
      if (step.kind === 'waiting' || step.kind === 'nothing') return step.kind
      if (step.kind === 'more') {
        rowsLeft -= step.rows
        continue
      }
      if (leavesTraces === true) return 'traces'
      const result = await leaveNoTraces(step.number)
      if (result !== 'done') return result
    }
    return 'more'
  }

  noteArchive(request: NoteArchiveRequest): Promise<void> {
    const { database } = this.#engine
    return database.change(() => noteArchive(request, database.dialect))
  }

  async finish({ id, nowMs }: { readonly id: string; readonly nowMs: number }): Promise<void> {
    const regulation = await this.find({ id })
    if (regulation === undefined) return
    await this.#engine.database.change(() => finishRegulation(regulation, nowMs))
  }
}
