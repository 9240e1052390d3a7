import type { AddRequest } from '../../delivery/index.ts'
import { effectsOf } from '../../model/index.ts'
import type {
  ArchiveErasure,
  CreateRegulationRequest,
  EraseRequest,
  EraseResult,
  NotificationStream,
  Regulation,
  RegulationsRequest,
  RegulationStore,
} from '../../privacy/index.ts'
import { newStreams } from '../new-streams.ts'
import { isOfSources } from '../source-scope.ts'
import { eraseDelivery } from './erasure-delivery.ts'
import type { StoredDelivery } from './stored-delivery.ts'
import type { Suppressions } from './suppressions.ts'

/** What regulations need of their store. */
interface StoreParts {
  /** Resolves later, as every method does; rejects once the store is closed. */
  readonly open: () => Promise<void>
  /** Takes events in at once, however full the store is; returns their deliveries. */
  readonly add: (batch: AddRequest) => readonly StoredDelivery[]
  /** The id of the delivery that was made last. */
  readonly lastId: () => number
  /** The delivery with an id; undefined where there is none, or it is forgotten. */
  readonly find: (id: number) => StoredDelivery | undefined
  /** Erases deliveries, and lets those fail that wait. None of them is given out. */
  readonly erase: (deliveries: readonly StoredDelivery[], nowMs: number) => void
  /** Takes a user out of audiences, and says how many members that were. */
  readonly eraseMember: (userId: string, sourceIds: readonly string[] | null) => number
  /** Whose calls are dropped. */
  readonly suppressions: Suppressions
}

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] }

interface KeptRegulation {
  readonly known: Mutable<Regulation>
  readonly erased: Mutable<Regulation['erased']>
  readonly userIds: ReadonlySet<string>
  /** The deliveries that it is about have this id at the most. */
  readonly lastId: number
  /** The last one that was looked at. */
  atId: number
  /** Those that were given out when they were looked at. */
  left: StoredDelivery[]
  /** Users whose memberships are erased. */
  usersErased: number
  /** Its notifications, until it is finished. */
  notifications: readonly StoredDelivery[]
}

/** Ids that are asked for in a step, for each row that it may look at: of most that passed nothing is kept. */
const idsPerRow = 16

/** Keeps regulations in memory. */
export class MemoryRegulations implements RegulationStore {
  readonly #parts: StoreParts
  readonly #byId = new Map<string, KeptRegulation>()

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  async create({ regulation, notifications, nowMs }: CreateRegulationRequest): Promise<void> {
    await this.#parts.open()
    const { id, type, userIds, sourceIds } = regulation
    const { suppression, erasesStore } = effectsOf(type)
    const { suppressions, add, lastId } = this.#parts
    if (suppression === 'add') suppressions.add(userIds, sourceIds)
    if (suppression === 'lift') suppressions.lift(userIds, sourceIds)
    const erased = { pending: 0, settled: 0, members: 0 }
    const last = lastId()
    // No notification is a duplicate, whenever its messageId was seen.
    const moments = { nowMs, seenSinceMs: Number.MAX_SAFE_INTEGER }
    this.#byId.set(id, {
      known: {
        ...regulation,
        createdAtMs: nowMs,
        finishedAtMs: null,
        isStoreErased: !erasesStore,
        erased,
        archive: null,
        streams: newStreams(notifications),
      },
      erased,
      userIds: new Set(userIds),
      lastId: last,
      atId: 0,
      left: [],
      usersErased: 0,
      notifications: add({ ...moments, events: notifications, handOver: [] }),
    })
  }

  async erase({ id, nowMs, rowsMax }: EraseRequest): Promise<EraseResult> {
    await this.#parts.open()
    const kept = this.#byId.get(id)
    if (kept === undefined || !effectsOf(kept.known.type).erasesStore) return 'nothing'
    const rows = this.#eraseDeliveries(kept, { nowMs, rowsMax })
    if (kept.atId < kept.lastId) return 'more'
    const left = kept.left
    kept.left = []
    this.#eraseOrLeave(kept, left, nowMs)
    if (kept.left.length > 0) return 'waiting'
    this.#eraseMembers(kept, rowsMax - rows)
    if (kept.usersErased < kept.userIds.size) return 'more'
    kept.known.isStoreErased = true
    for (const notification of kept.notifications) {
      const { end, isErased } = notification
      if (end?.state === 'delivered' && !isErased) eraseDelivery(notification)
    }
    return kept.notifications.some(({ end }) => end === undefined) ? 'waiting' : 'nothing'
  }

  async noteArchive(request: {
    readonly id: string
    readonly archive: ArchiveErasure
  }): Promise<void> {
    await this.#parts.open()
    const kept = this.#byId.get(request.id)
    if (kept !== undefined) kept.known.archive = request.archive
  }

  async finish({ id, nowMs }: { readonly id: string; readonly nowMs: number }): Promise<void> {
    await this.#parts.open()
    const kept = this.#byId.get(id)
    if (kept === undefined || kept.known.finishedAtMs !== null) return
    kept.known.streams = streamsOf(kept)
    kept.known.finishedAtMs = nowMs
    kept.notifications = []
  }

  async find({ id }: { readonly id: string }): Promise<Regulation | undefined> {
    await this.#parts.open()
    const kept = this.#byId.get(id)
    return kept === undefined ? undefined : regulationOf(kept)
  }

  async list(request: RegulationsRequest): Promise<readonly Regulation[]> {
    await this.#parts.open()
    const { limit, beforeId, unfinished = false } = request
    const newest = [...this.#byId.values()].reverse()
    const place = newest.findIndex(({ known }) => known.id === beforeId)
    if (beforeId !== undefined && place < 0) return []
    return newest
      .slice(place + 1)
      .filter(({ known }) => !unfinished || known.finishedAtMs === null)
      .slice(0, limit)
      .map(regulationOf)
  }

  #eraseDeliveries(
    kept: KeptRegulation,
    { nowMs, rowsMax }: { readonly nowMs: number; readonly rowsMax: number },
  ): number {
    const rows: StoredDelivery[] = []
    const lastId = Math.min(kept.lastId, kept.atId + rowsMax * idsPerRow)
    while (kept.atId < lastId && rows.length < rowsMax) {
      const row = this.#parts.find(++kept.atId)
      if (row !== undefined) rows.push(row)
    }
    const wanted = rows.filter((row) => isWanted(kept, row))
    this.#eraseOrLeave(kept, wanted, nowMs)
    return rows.length
  }

  #eraseOrLeave(kept: KeptRegulation, deliveries: readonly StoredDelivery[], nowMs: number): void {
    const free = deliveries.filter(({ lease }) => lease === undefined)
    for (const { type, end } of free) {
      if (type !== 'delete') kept.erased[end === undefined ? 'pending' : 'settled']++
    }
    this.#parts.erase(free, nowMs)
    kept.left.push(...deliveries.filter(({ lease }) => lease !== undefined))
  }

  #eraseMembers(kept: KeptRegulation, usersMax: number): void {
    const { userIds, sourceIds } = kept.known
    const users = userIds.slice(kept.usersErased, kept.usersErased + usersMax)
    for (const userId of users) {
      kept.erased.members += this.#parts.eraseMember(userId, sourceIds)
    }
    kept.usersErased += users.length
  }
}

function isWanted({ userIds, known }: KeptRegulation, delivery: StoredDelivery): boolean {
  const { userId, previousId, type, sourceId, end } = delivery
  if (![userId, previousId].some((id) => id !== null && userIds.has(id))) return false
  // What another regulation wants to be told is not taken back.
  if (type === 'delete' && end?.state !== 'delivered') return false
  return isOfSources(sourceId, known.sourceIds)
}

function regulationOf(kept: KeptRegulation): Regulation {
  return { ...kept.known, erased: { ...kept.erased }, streams: streamsOf(kept) }
}

function streamsOf({ known, notifications }: KeptRegulation): readonly NotificationStream[] {
  if (known.finishedAtMs !== null) return known.streams
  const counts = new Map<string, number>()
  for (const { sourceId, destinationId, end } of notifications) {
    const key = JSON.stringify([sourceId, destinationId, end?.state ?? 'pending'])
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return known.streams.map(({ sourceId, destinationId }) => {
    const of = (state: string): number =>
      counts.get(JSON.stringify([sourceId, destinationId, state])) ?? 0
    return {
      sourceId,
      destinationId,
      pending: of('pending'),
      delivered: of('delivered'),
      failed: of('failed'),
      expired: of('expired'),
    }
  })
}
