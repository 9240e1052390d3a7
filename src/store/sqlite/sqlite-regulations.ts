import { effectsOf } from '../../model/index.ts'
import type {
  ArchiveErasure,
  CreateRegulationRequest,
  EraseRequest,
  EraseResult,
  HeldUpErasure,
  Regulation,
  RegulationsRequest,
  RegulationStore,
} from '../../privacy/index.ts'
import type { DeliveryQueue } from './delivery-queue.ts'
import type { ErasureSteps } from './erasure-steps.ts'
import type { ErasureTraces } from './erasure-traces.ts'
import type { RegulationRows } from './regulation-rows.ts'
import type { RegulationWriter } from './regulation-writer.ts'
import type { Suppressions } from './suppressions.ts'
import type { Work } from './work.ts'

/** What regulations are carried out with. */
interface RegulationParts {
  readonly work: Work
  readonly queue: DeliveryQueue
  readonly suppressions: Suppressions
  readonly rows: RegulationRows
  readonly writer: RegulationWriter
  readonly steps: ErasureSteps
  /** Undefined where nobody can find any. */
  readonly traces: ErasureTraces | undefined
}

/**
 * Keeps regulations in the file of the deliveries that they cause and erase.
 *
 * How far an erasure has come is in the file: another process goes on from there. Once everything is
 * erased the file is written anew and its log cut off, for which see {@link ErasureTraces}; not before
 * does the store count as erased.
 */
export class SqliteRegulations implements RegulationStore {
  readonly #parts: RegulationParts
  /** Regulations for which the file was written anew, while the log still has what was in it. */
  #rewritten: ReadonlySet<number> = new Set()

  constructor(parts: RegulationParts) {
    this.#parts = parts
  }

  async create(request: CreateRegulationRequest): Promise<void> {
    const { work, suppressions } = this.#parts
    try {
      await work.write(() => this.#create(request))
    } finally {
      // Now that it is known whether it was committed; a store that is closed asks nobody any more.
      await work.read(() => suppressions.recount()).catch(() => undefined)
    }
  }

  async erase({ id, nowMs, rowsMax, leavesTraces }: EraseRequest): Promise<EraseResult> {
    const { work, steps } = this.#parts
    let rowsLeft = rowsMax
    while (rowsLeft > 0) {
      const request = { id, nowMs, rowsMax: rowsLeft }
      const step = await work.write(() => steps.step(request))
      if (step.kind === 'waiting' || step.kind === 'nothing') return step.kind
      if (step.kind === 'more') {
        rowsLeft -= step.rows
        continue
      }
      if (leavesTraces === true) return 'traces'
      const result = await this.#leaveNoTraces(step.number)
      if (result !== 'done') return result
    }
    return 'more'
  }

  noteArchive(request: { readonly id: string; readonly archive: ArchiveErasure }): Promise<void> {
    return this.#parts.work.write(() => this.#parts.writer.noteArchive(request))
  }

  finish({ id, nowMs }: { readonly id: string; readonly nowMs: number }): Promise<void> {
    const { work, rows, writer } = this.#parts
    return work.write(() => {
      const regulation = rows.find(id)
      if (regulation !== undefined) writer.finish(regulation, nowMs)
    })
  }

  find({ id }: { readonly id: string }): Promise<Regulation | undefined> {
    return this.#parts.work.read(() => this.#parts.rows.find(id))
  }

  list(request: RegulationsRequest): Promise<readonly Regulation[]> {
    return this.#parts.work.read(() => this.#parts.rows.list(request))
  }

  #create({ regulation, notifications, nowMs }: CreateRegulationRequest): void {
    const { queue, suppressions, writer } = this.#parts
    const { type, userIds, sourceIds } = regulation
    const { suppression } = effectsOf(type)
    if (suppression === 'add') suppressions.add(userIds, sourceIds)
    if (suppression === 'lift') suppressions.lift(userIds, sourceIds)
    const notify = (): void => {
      // No notification is a duplicate, whenever its messageId was seen.
      const seenSinceMs = Number.MAX_SAFE_INTEGER
      queue.add({ nowMs, seenSinceMs, events: notifications, handOver: [] })
    }
    writer.create({ regulation, notifications, nowMs }, notify)
  }

  async #leaveNoTraces(number: number): Promise<'done' | 'waiting' | HeldUpErasure> {
    const { work, steps, traces } = this.#parts
    const result = await work.read(() => {
      if (traces === undefined) return 'done'
      if (!this.#rewritten.has(number)) {
        const withTraces = steps.withTraces()
        const rewriting = traces.rewrite()
        if (rewriting !== 'done') return rewriting
        this.#rewritten = new Set(withTraces)
      }
      return traces.emptyLog() ? 'done' : 'busy'
    })
    if (result === 'busy') return 'waiting'
    if (result !== 'done') return result
    await work.write(() => steps.noteRewritten(number))
    this.#rewritten = new Set([...this.#rewritten].filter((other) => other !== number))
    return 'done'
  }
}
