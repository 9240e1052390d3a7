import { lanes, type Lane } from '../model/index.ts'
import type { DueTime } from './store-port.ts'

interface Knowledge {
  /** When the lane's first waiting delivery is due, in milliseconds since 1970; Infinity if none is known. */
  dueAtMs: number
  /** Whether `dueAtMs` covers all waiting deliveries; if not, the store must be asked. */
  isWhole: boolean
  /** The earliest due time added during the current query or claim, or Infinity; undefined if none is in progress. */
  arrivedMs: number | undefined
}

/**
 * The due times that a dispatcher knows, so that it claims only from lanes with waiting deliveries. Due times that
 * are added while the store is being asked are merged with its answer.
 *
 * A due time that is too early costs one useless claim. A due time that is missing here is found by the next query.
 */
export class WaitingTimes {
  #lanes: ReadonlyMap<string, Readonly<Record<Lane, Knowledge>>> = new Map()
  readonly #toAsk = new Set<string>()
  readonly #waitedFor = new Set<string>()
  readonly #deferred = new Set<string>()

  /** Sets the destinations to watch, and notes that the store has to be asked about new ones. */
  watch(destinationIds: readonly string[]): void {
    const before = this.#lanes
    this.#lanes = new Map(destinationIds.map((id) => [id, before.get(id) ?? nothingKnown()]))
    for (const id of destinationIds) if (!before.has(id)) this.#toAsk.add(id)
    this.recallAll()
    for (const id of [...this.#toAsk, ...this.#waitedFor]) {
      if (this.#lanes.has(id)) continue
      this.#toAsk.delete(id)
      this.#waitedFor.delete(id)
    }
  }

  get destinationIds(): Iterable<string> {
    return this.#lanes.keys()
  }

  /** The destinations with a known waiting delivery that are not {@link deferred}, most recently served last. */
  get waitedFor(): ReadonlySet<string> {
    return this.#waitedFor
  }

  /** The destinations with a known waiting delivery that cannot start now. */
  get deferred(): ReadonlySet<string> {
    return this.#deferred
  }

  get isNothingWaitedFor(): boolean {
    return this.#waitedFor.size + this.#deferred.size === 0
  }

  /** Moves a destination from {@link waitedFor} to {@link deferred} until its due times change or it is recalled. */
  defer(destinationId: string): void {
    if (this.#waitedFor.delete(destinationId)) this.#deferred.add(destinationId)
  }

  /** Ends the deferral of a destination, because its deliveries may start earlier now. */
  recall(destinationId: string): void {
    if (this.#deferred.delete(destinationId)) this.#waitedFor.add(destinationId)
  }

  recallAll(): void {
    for (const id of this.#deferred) this.recall(id)
  }

  /** When a lane's first delivery is due, in milliseconds since 1970; undefined if none is known to be waiting. */
  dueAtMs(destinationId: string, lane: Lane): number | undefined {
    const dueAtMs = this.#lanes.get(destinationId)?.[lane].dueAtMs ?? Infinity
    return dueAtMs === Infinity ? undefined : dueAtMs
  }

  isEmpty(destinationId: string, lane: Lane): boolean {
    const known = this.#lanes.get(destinationId)?.[lane]
    return known?.isWhole === true && known.dueAtMs === Infinity
  }

  /** Records a waiting delivery, which may be due earlier than all others in its lane. */
  add(destinationId: string, lane: Lane, dueAtMs: number): void {
    const known = this.#lanes.get(destinationId)?.[lane]
    if (known === undefined) return
    known.dueAtMs = Math.min(known.dueAtMs, dueAtMs)
    if (known.arrivedMs !== undefined) known.arrivedMs = Math.min(known.arrivedMs, dueAtMs)
    this.#sort(destinationId)
  }

  /** Moves a destination behind all others, because its deliveries are being claimed. */
  serve(destinationId: string): void {
    if (this.#waitedFor.delete(destinationId)) this.#waitedFor.add(destinationId)
  }

  /** Begins a claim from a lane. When the claim ends, only due times that were added during it stay known. */
  claim(destinationId: string, lane: Lane): void {
    const known = this.#lanes.get(destinationId)?.[lane]
    if (known !== undefined) known.arrivedMs = Infinity
  }

  /** Records that a claim emptied a lane, except for deliveries that were added since it began. */
  empty(destinationId: string, lane: Lane): void {
    this.#answer(destinationId, lane, Infinity)
  }

  /** Forgets a lane's due time, so that the store is asked for it. */
  forget(destinationId: string, lane: Lane): void {
    this.#answer(destinationId, lane, Infinity)
    const known = this.#lanes.get(destinationId)?.[lane]
    if (known === undefined) return
    known.isWhole = false
    this.#toAsk.add(destinationId)
  }

  /** Makes the dispatcher ask the store about all destinations again. Known due times stay valid until it answers. */
  askAgain(): void {
    for (const id of this.#lanes.keys()) this.#toAsk.add(id)
  }

  get toAsk(): ReadonlySet<string> {
    return this.#toAsk
  }

  /** Begins a query about destinations. Due times that are added before its answer comes are kept by {@link learn}. */
  ask(destinationIds: readonly string[]): void {
    for (const id of destinationIds) {
      this.#toAsk.delete(id)
      for (const lane of lanes) this.claim(id, lane)
    }
  }

  /** Records the store's answer. Lanes without a due time are empty. */
  learn(destinationIds: readonly string[], dueTimes: readonly DueTime[]): void {
    const answers = new Map(dueTimes.map((due) => [keyOf(due), due.dueAtMs]))
    for (const destinationId of destinationIds) {
      for (const lane of lanes) {
        this.#answer(destinationId, lane, answers.get(keyOf({ destinationId, lane })) ?? Infinity)
      }
    }
  }

  #answer(destinationId: string, lane: Lane, dueAtMs: number): void {
    const known = this.#lanes.get(destinationId)?.[lane]
    if (known === undefined) return
    known.dueAtMs = Math.min(dueAtMs, known.arrivedMs ?? Infinity)
    known.isWhole = true
    known.arrivedMs = undefined
    this.#sort(destinationId)
  }

  /** Updates the set of destinations with waiting deliveries, so that no caller has to scan all destinations. */
  #sort(destinationId: string): void {
    const known = this.#lanes.get(destinationId)
    this.#deferred.delete(destinationId)
    if (known !== undefined && lanes.some((lane) => known[lane].dueAtMs < Infinity)) {
      this.#waitedFor.add(destinationId)
    } else {
      this.#waitedFor.delete(destinationId)
    }
  }
}

function nothingKnown(): Readonly<Record<Lane, Knowledge>> {
  const nothing = (): Knowledge => ({ dueAtMs: Infinity, isWhole: false, arrivedMs: undefined })
  return { manual: nothing(), first: nothing(), retry: nothing() }
}

function keyOf({ destinationId, lane }: Pick<DueTime, 'destinationId' | 'lane'>): string {
  return `${lane} ${destinationId}`
}
