import type {
  ArchiveErasure,
  CreateRegulationRequest,
  EraseRequest,
  EraseResult,
  Regulation,
  RegulationsRequest,
  RegulationStore,
} from '../../privacy/index.ts'

/** Keeps regulations in memory. */
export class MemoryRegulations implements RegulationStore {
  create(request: CreateRegulationRequest): Promise<void> {
    return notBuilt(request)
  }

  erase(request: EraseRequest): Promise<EraseResult> {
    return notBuilt(request)
  }

  noteArchive(request: { readonly id: string; readonly archive: ArchiveErasure }): Promise<void> {
    return notBuilt(request)
  }

  finish(request: { readonly id: string; readonly nowMs: number }): Promise<void> {
    return notBuilt(request)
  }

  find(request: { readonly id: string }): Promise<Regulation | undefined> {
    return notBuilt(request)
  }

  list(request: RegulationsRequest): Promise<readonly Regulation[]> {
    return notBuilt(request)
  }
}

function notBuilt(...what: readonly unknown[]): Promise<never> {
  return Promise.reject(new Error(`not built ${what.length}`))
}
