import { lanes, type Lane } from '../model/index.ts'
import type { DueTime } from './store-port.ts'

/** Known facts about a lane. */
interface Knowledge {
  /** When its first delivery is due, in milliseconds since 1970; Infinity if none is known to wait. */
  dueAtMs: number
  /** Whether `dueAtMs` is complete; if not, the store must be asked. */
  isWhole: boolean
  /**
   * The earliest due time that arrived while the store is being asked, or Infinity. Undefined at other times.
   */
  cameMs: number | undefined
}

/**
 * The due times that a dispatcher knows, so that it claims only where deliveries wait. Due times that arrive
 * while the store is being asked are merged with its answer.
 *
 * A due time that is too early costs one useless claim. One that is missing is found by the next question.
 */
export class WaitingTimes {
  #lanes: ReadonlyMap<string, Readonly<Record<Lane, Knowledge>>> = new Map()
  /** Destinations that the store must be asked about. */
  readonly #toAsk = new Set<string>()
  /** Destinations with a known waiting delivery; the one served last comes last. */
  readonly #waitedFor = new Set<string>()

  constructor(destinationIds: readonly string[]) {
    this.watch(destinationIds)
  }

  /** Sets the watched destinations. Nothing is known about new ones. */
  watch(destinationIds: readonly string[]): void {
    const before = this.#lanes
    this.#lanes = new Map(destinationIds.map((id) => [id, before.get(id) ?? nothingKnown()]))
    for (const id of destinationIds) if (!before.has(id)) this.#toAsk.add(id)
    for (const id of [...this.#toAsk, ...this.#waitedFor]) {
      if (this.#lanes.has(id)) continue
      this.#toAsk.delete(id)
      this.#waitedFor.delete(id)
    }
  }

  /** All destinations. */
  get destinationIds(): Iterable<string> {
    return this.#lanes.keys()
  }

  /** The destinations with a known waiting delivery; the one served longest ago comes first. */
  get waitedFor(): ReadonlySet<string> {
    return this.#waitedFor
  }

  /** When a lane's first delivery is due; undefined if none is known to wait. */
  dueAtMs(destinationId: string, lane: Lane): number | undefined {
    const dueAtMs = this.#lanes.get(destinationId)?.[lane].dueAtMs ?? Infinity
    return dueAtMs === Infinity ? undefined : dueAtMs
  }

  /** Whether a lane is known to be empty. */
  isEmpty(destinationId: string, lane: Lane): boolean {
    const known = this.#lanes.get(destinationId)?.[lane]
    return known?.isWhole === true && known.dueAtMs === Infinity
  }

  /** Learns of a waiting delivery, which may be due before all others. */
  add(destinationId: string, lane: Lane, dueAtMs: number): void {
    const known = this.#lanes.get(destinationId)?.[lane]
    if (known === undefined) return
    known.dueAtMs = Math.min(known.dueAtMs, dueAtMs)
    if (known.cameMs !== undefined) known.cameMs = Math.min(known.cameMs, dueAtMs)
    this.#sort(destinationId)
  }

  /** Moves a destination behind all others, because deliveries are being claimed for it. */
  serve(destinationId: string): void {
    if (this.#waitedFor.delete(destinationId)) this.#waitedFor.add(destinationId)
  }

  /** Notes that a lane is being claimed from. */
  claim(destinationId: string, lane: Lane): void {
    const known = this.#lanes.get(destinationId)?.[lane]
    if (known !== undefined) known.cameMs = Infinity
  }

  /** Learns that a claim emptied a lane, except for later arrivals. */
  empty(destinationId: string, lane: Lane): void {
    this.#answer(destinationId, lane, Infinity)
  }

  /** Forgets the next due time of a lane, so that the store is asked. */
  forget(destinationId: string, lane: Lane): void {
    this.#answer(destinationId, lane, Infinity)
    const known = this.#lanes.get(destinationId)?.[lane]
    if (known === undefined) return
    known.isWhole = false
    this.#toAsk.add(destinationId)
  }

  /** Asks the store about all destinations again. Known due times stay valid until it answers. */
  askAgain(): void {
    for (const id of this.#lanes.keys()) this.#toAsk.add(id)
  }

  /** Destinations that the store must be asked about. */
  get toAsk(): ReadonlySet<string> {
    return this.#toAsk
  }

  /** Notes that the store is being asked about destinations. */
  ask(destinationIds: readonly string[]): void {
    for (const id of destinationIds) {
      this.#toAsk.delete(id)
      for (const lane of lanes) this.claim(id, lane)
    }
  }

  /** Learns the store's answer. A lane that it doesn't name is empty. */
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
    known.dueAtMs = Math.min(dueAtMs, known.cameMs ?? Infinity)
    known.isWhole = true
    known.cameMs = undefined
    this.#sort(destinationId)
  }

  /** Updates the set of destinations with waiting deliveries, so that no caller scans all of them. */
  #sort(destinationId: string): void {
    const known = this.#lanes.get(destinationId)
    if (known !== undefined && lanes.some((lane) => known[lane].dueAtMs < Infinity)) {
      this.#waitedFor.add(destinationId)
    } else {
      this.#waitedFor.delete(destinationId)
    }
  }
}

function nothingKnown(): Readonly<Record<Lane, Knowledge>> {
  const nothing = (): Knowledge => ({ dueAtMs: Infinity, isWhole: false, cameMs: undefined })
  return { manual: nothing(), first: nothing(), retry: nothing() }
}

function keyOf({ destinationId, lane }: Pick<DueTime, 'destinationId' | 'lane'>): string {
  return `${lane} ${destinationId}`
}
