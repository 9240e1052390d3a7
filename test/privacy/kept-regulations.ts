import type {
  CreateRegulationRequest,
  EraseRequest,
  EraseResult,
  FinishRequest,
  HeldUpErasure,
  NotificationStream,
  Regulation,
  RegulationsRequest,
  RegulationStore,
} from '../../src/privacy/index.ts'

/** Keeps regulations in memory. A test sets what there is to erase. */
export class KeptRegulations implements RegulationStore {
  readonly created: CreateRegulationRequest[] = []
  readonly erased: EraseRequest[] = []
  /** The calls, in order: `erase <id>`, `rewrite <id>`, `note <id>`, `finish <id>`. */
  readonly steps: string[] = []
  /** The results of erasures, in turn. After the last one, the result is `nothing`. */
  readonly answers: EraseResult[] = []
  /** The regulations whose erasure waits, after the last of `answers`. */
  readonly waiting = new Set<string>()
  /** Whether erasures leave traces in files, which must then be rewritten. */
  hasFiles = false
  /** Why the files cannot be rewritten. */
  heldUp: HeldUpErasure | undefined
  /** The errors that the methods throw, in turn. */
  readonly failures: Partial<Record<'create' | 'erase' | 'noteArchive' | 'finish', Error[]>> = {}
  readonly #regulations = new Map<string, Regulation>()

  create(request: CreateRegulationRequest): Promise<void> {
    return this.#unlessFailing('create', () => {
      const { regulation, notifications, nowMs } = request
      this.created.push(request)
      const streams = notifications.flatMap(({ sourceId, deliveries }) =>
        deliveries.map(({ destinationId }) => ({ ...noStream, sourceId, destinationId })),
      )
      this.put({ ...notBegun, ...regulation, createdAtMs: nowMs, streams })
    })
  }

  erase(request: EraseRequest): Promise<EraseResult> {
    const { id, leavesTraces } = request
    this.steps.push(`${leavesTraces === true ? 'erase' : 'rewrite'} ${id}`)
    return this.#unlessFailing('erase', () => {
      this.erased.push(request)
      if (this.hasFiles && leavesTraces === true) return 'traces'
      if (this.heldUp !== undefined) return this.heldUp
      return this.answers.shift() ?? (this.waiting.has(request.id) ? 'waiting' : 'nothing')
    })
  }

  noteArchive({ id, archive }: Parameters<RegulationStore['noteArchive']>[0]): Promise<void> {
    return this.#unlessFailing('noteArchive', () => {
      this.steps.push(`note ${id}`)
      this.change(id, { archive })
    })
  }

  finish({ id, nowMs }: FinishRequest): Promise<boolean> {
    return this.#unlessFailing('finish', () => {
      if (this.get(id).streams.some(({ pending }) => pending > 0)) return false
      this.steps.push(`finish ${id}`)
      this.change(id, { finishedAtMs: nowMs })
      return true
    })
  }

  find({ id }: { readonly id: string }): Promise<Regulation | undefined> {
    return Promise.resolve(this.#regulations.get(id))
  }

  list({ limit, beforeId, unfinished }: RegulationsRequest): Promise<readonly Regulation[]> {
    const all = [...this.#regulations.values()].reverse()
    const from = beforeId === undefined ? 0 : all.findIndex(({ id }) => id === beforeId) + 1
    const wanted = all
      .slice(from)
      .filter(({ finishedAtMs }) => unfinished !== true || finishedAtMs === null)
    return Promise.resolve(wanted.slice(0, limit))
  }

  /** Keeps a regulation as if it had been stored earlier. */
  put(regulation: Regulation): void {
    this.#regulations.set(regulation.id, regulation)
  }

  change(id: string, changes: Partial<Regulation>): void {
    this.put({ ...this.get(id), ...changes })
  }

  get(id: string): Regulation {
    const regulation = this.#regulations.get(id)
    if (regulation === undefined) throw new Error(`There is no ${id}`)
    return regulation
  }

  async #unlessFailing<Value>(
    method: keyof KeptRegulations['failures'],
    task: () => Value,
  ): Promise<Value> {
    const failure = this.failures[method]?.shift()
    if (failure !== undefined) throw failure
    return Promise.resolve(task())
  }
}

const noStream: NotificationStream = {
  sourceId: '',
  destinationId: '',
  pending: 0,
  delivered: 1,
  failed: 0,
  expired: 0,
}

/** A regulation that was stored but not begun. */
export const notBegun: Regulation = {
  id: 'reg_1',
  type: 'DELETE_INTERNAL',
  userIds: ['u_1'],
  sourceIds: null,
  createdAtMs: 1,
  finishedAtMs: null,
  isStoreErased: false,
  erased: { pending: 0, settled: 0, members: 0 },
  archive: null,
  streams: [],
}
