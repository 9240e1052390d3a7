import type {
  ArchiveErasure,
  CreateRegulationRequest,
  EraseRequest,
  EraseResult,
  Regulation,
  RegulationsRequest,
  RegulationStore,
} from '../../privacy/index.ts'
import type { Counts } from './counts.ts'
import type { Database } from './database.ts'
import type { DeliveryQueue } from './delivery-queue.ts'
import type { Leases } from './leases.ts'
import { RegulationRows } from './regulation-rows.ts'
import type { Suppressions } from './suppressions.ts'
import type { Work } from './work.ts'

/** What regulations are carried out with. */
interface RegulationParts {
  readonly database: Database
  readonly work: Work
  readonly queue: DeliveryQueue
  readonly counts: Counts
  readonly leases: Leases
  readonly suppressions: Suppressions
}

/** Keeps regulations in the file of the deliveries that they cause and erase. */
export class SqliteRegulations implements RegulationStore {
  readonly #parts: RegulationParts
  readonly #rows: RegulationRows

  constructor(parts: RegulationParts) {
    this.#parts = parts
    this.#rows = new RegulationRows(parts.database)
  }

  create(request: CreateRegulationRequest): Promise<void> {
    return this.#parts.work.write(() => notBuilt(request))
  }

  erase(request: EraseRequest): Promise<EraseResult> {
    return this.#parts.work.write(() => notBuilt(request))
  }

  noteArchive(request: { readonly id: string; readonly archive: ArchiveErasure }): Promise<void> {
    return this.#parts.work.write(() => notBuilt(request))
  }

  finish(request: { readonly id: string; readonly nowMs: number }): Promise<void> {
    return this.#parts.work.write(() => notBuilt(request))
  }

  find({ id }: { readonly id: string }): Promise<Regulation | undefined> {
    return this.#parts.work.read(() => this.#rows.find(id))
  }

  list(request: RegulationsRequest): Promise<readonly Regulation[]> {
    return this.#parts.work.read(() => this.#rows.list(request))
  }
}

function notBuilt(...what: readonly unknown[]): never {
  throw new Error(`not built ${what.length}`)
}
