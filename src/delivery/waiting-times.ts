import { lanes, type Lane } from '../model/index.ts'
import type { DueTime } from './store-port.ts'

/**
 * When the first delivery of a lane is due: a moment in milliseconds since 1970, `none` when nothing
 * waits there, `unknown` until the store is asked, `asked` while it is.
 */
type Waiting = number | 'none' | 'unknown' | 'asked'

/**
 * What a dispatcher knows of the deliveries that wait in the store, so that it asks for those only that
 * are there. Not to know is always safe: it costs a question.
 */
export class WaitingTimes {
  #waiting: ReadonlyMap<string, Record<Lane, Waiting>> = new Map()
  /** Destinations with a lane that the store must be asked about. */
  readonly #unknown = new Set<string>()
  /** Destinations with a lane in which something is known to wait. */
  readonly #waitedFor = new Set<string>()

  constructor(destinationIds: readonly string[]) {
    this.watch(destinationIds)
  }

  /** These are the destinations from now on; of new ones nothing is known. */
  watch(destinationIds: readonly string[]): void {
    const before = this.#waiting
    const unknown = { manual: 'unknown', first: 'unknown', retry: 'unknown' } as const
    this.#waiting = new Map(destinationIds.map((id) => [id, before.get(id) ?? { ...unknown }]))
    this.#unknown.clear()
    this.#waitedFor.clear()
    for (const [id, known] of this.#waiting) this.#sort(id, known)
  }

  /** The destinations for which something is known to wait, whenever it is due. */
  get waitedFor(): Iterable<string> {
    return this.#waitedFor
  }

  /** When a lane's first delivery is due; undefined when nothing waits or nothing is known. */
  dueAtMs(destinationId: string, lane: Lane): number | undefined {
    const waiting = this.#waiting.get(destinationId)?.[lane]
    return typeof waiting === 'number' ? waiting : undefined
  }

  /** Whether it is known that nothing waits in a lane. */
  isEmpty(destinationId: string, lane: Lane): boolean {
    return this.#waiting.get(destinationId)?.[lane] === 'none'
  }

  /** A delivery is due at a moment: earlier, perhaps, than what was known of. */
  add(destinationId: string, lane: Lane, dueAtMs: number): void {
    const known = this.#waiting.get(destinationId)
    if (known === undefined) return
    const waiting = known[lane]
    if (typeof waiting === 'number') known[lane] = Math.min(waiting, dueAtMs)
    else known[lane] = waiting === 'none' ? dueAtMs : 'unknown'
    this.#sort(destinationId, known)
  }

  /** Nothing is known of a lane any more. */
  forget(destinationId: string, lane: Lane): void {
    const known = this.#waiting.get(destinationId)
    if (known === undefined) return
    known[lane] = 'unknown'
    this.#sort(destinationId, known)
  }

  /** Nothing is known any more. */
  forgetAll(): void {
    for (const [destinationId, known] of this.#waiting) {
      for (const lane of lanes) known[lane] = 'unknown'
      this.#sort(destinationId, known)
    }
  }

  /** The destinations that the store must be asked about: it is being asked from now on. */
  ask(): readonly string[] {
    const asked = [...this.#unknown]
    for (const destinationId of asked) {
      const known = this.#waiting.get(destinationId)
      if (known === undefined) continue
      for (const lane of lanes) if (known[lane] === 'unknown') known[lane] = 'asked'
    }
    this.#unknown.clear()
    return asked
  }

  /** The store's answer. What has changed since it was asked stays unknown. */
  learn(destinationIds: readonly string[], dueTimes: readonly DueTime[]): void {
    for (const { destinationId, lane, dueAtMs } of dueTimes) {
      const known = this.#waiting.get(destinationId)
      if (known?.[lane] === 'asked') known[lane] = dueAtMs
    }
    for (const destinationId of destinationIds) {
      const known = this.#waiting.get(destinationId)
      if (known === undefined) continue
      for (const lane of lanes) if (known[lane] === 'asked') known[lane] = 'none'
      this.#sort(destinationId, known)
    }
  }

  /** Finds out where a destination belongs, so that nobody has to look at all of them. */
  #sort(destinationId: string, known: Readonly<Record<Lane, Waiting>>): void {
    const isUnknown = lanes.some((lane) => known[lane] === 'unknown')
    const isWaitedFor = lanes.some((lane) => typeof known[lane] === 'number')
    if (isUnknown) this.#unknown.add(destinationId)
    else this.#unknown.delete(destinationId)
    if (isWaitedFor) this.#waitedFor.add(destinationId)
    else this.#waitedFor.delete(destinationId)
  }
}
