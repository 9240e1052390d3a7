import { isOfSources } from '../source-scope.ts'
import { SubjectIds } from '../subject-ids.ts'
import type { AudienceChanges } from './audience-changes.ts'
import type { Counts } from './counts.ts'
import type { Database } from './database.ts'
import { DeliveryEraser } from './erasure-deliveries.ts'
import { ErasureWalk, type ErasableRow, type IdRange } from './erasure-walk.ts'
import type { Leases } from './leases.ts'
import { fromStored, toStored } from './stored-text.ts'

/**
 * What an erasure does, in this order.
 *
 * - `deliveries`: goes through all that were there
 * - `left`: comes back to those that were given out
 * - `seen`: forgets messageIds that name users, of events that have no deliveries any more
 * - `members`: takes users out of audiences
 * - `traces`: writes the file anew; only where notifications are to be waited for
 * - `notifications`: erases those that were delivered, until none is pending
 * - `last traces`: writes the file anew
 */
type Stage =
  'deliveries' | 'left' | 'seen' | 'members' | 'traces' | 'notifications' | 'last traces' | 'done'

interface Erasure {
  readonly number: number
  readonly source_ids: string | null
  readonly created_at: number
  readonly last_id: number
  readonly last_notification_id: number
  readonly stage: Stage
  readonly at_key: string
  readonly at_id: number
}

interface UserRow {
  readonly user_id: string
}

interface LeftRow {
  readonly destinationId: string
  readonly id: number
}

interface SeenRow {
  readonly source_id: string
  readonly message_id: string
  readonly seen_at: number
}

interface StepRequest {
  readonly id: string
  readonly nowMs: number
  readonly rowsMax: number
}

/** What a step has come to; `traces`: the file is to be written anew before the next one. */
export type ErasureStep =
  | { readonly kind: 'more'; readonly rows: number }
  | { readonly kind: 'traces'; readonly number: number }
  | { readonly kind: 'waiting' }
  | { readonly kind: 'nothing' }

/** What steps work with. */
interface StepParts {
  readonly counts: Counts
  readonly leases: Leases
  readonly audiences: AudienceChanges
}

/** Rows that are looked at in a step in which some are erased, which takes a few milliseconds. */
const erasedRowsMax = 100

/** Rows that are looked at in a step in which none are erased. */
const lookedRowsMax = 1_000

/** Erases step by step, each of them in a transaction that whoever calls it begins and ends. */
export class ErasureSteps {
  readonly #parts: StepParts
  readonly #walk: ErasureWalk
  readonly #eraser: DeliveryEraser
  readonly #find
  readonly #goOn
  readonly #count
  readonly #users
  readonly #usersBehind
  readonly #leave
  readonly #left
  readonly #isLeft
  readonly #forgetLeft
  readonly #seenBehind
  readonly #forgetSeen
  readonly #withTraces
  readonly #noteRewritten
  /** The users of the erasure that is under way: reading 5,000 of them for every step would take longer than the step. */
  #subjects: { readonly number: number; readonly ids: SubjectIds } | undefined

  constructor(database: Database, parts: StepParts) {
    this.#parts = parts
    this.#walk = new ErasureWalk(database)
    this.#eraser = new DeliveryEraser(database, parts.counts)
    this.#find = database.prepare(`
      SELECT number, source_ids, created_at, last_id, last_notification_id, stage, at_key, at_id
      FROM regulations WHERE id = ?`)
    this.#goOn = database.prepare(
      'UPDATE regulations SET stage = ?, at_key = ?, at_id = ? WHERE number = ?',
    )
    this.#count = database.prepare(`
      UPDATE regulations SET erased_pending = erased_pending + ?,
        erased_settled = erased_settled + ?, erased_members = erased_members + ? WHERE number = ?`)
    this.#users = database.prepare('SELECT user_id FROM regulation_users WHERE number = ?')
    this.#usersBehind = database.prepare(`
      SELECT user_id FROM regulation_users WHERE number = ? AND user_id > ?
      ORDER BY user_id LIMIT ?`)
    this.#leave = database.prepare(
      'INSERT INTO regulation_left VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    )
    this.#left = database.prepare(`
      SELECT destination_id AS destinationId, delivery_id AS id FROM regulation_left
      WHERE number = ? AND (destination_id, delivery_id) > (?, ?)
      ORDER BY destination_id, delivery_id LIMIT ?`)
    this.#isLeft = database.prepare('SELECT 1 FROM regulation_left WHERE number = ? LIMIT 1')
    this.#forgetLeft = database.prepare(
      'DELETE FROM regulation_left WHERE number = ? AND destination_id = ? AND delivery_id = ?',
    )
    this.#seenBehind = database.prepare(`
      SELECT source_id, message_id, seen_at FROM seen WHERE (source_id, message_id) > (?, ?)
      ORDER BY source_id, message_id LIMIT ?`)
    this.#forgetSeen = database.prepare('DELETE FROM seen WHERE source_id = ? AND message_id = ?')
    this.#withTraces = database.prepare(
      "SELECT number FROM regulations WHERE stage IN ('traces', 'last traces')",
    )
    this.#noteRewritten = database.prepare(`
      UPDATE regulations SET is_store_erased = 1, at_key = '', at_id = 0,
        stage = CASE stage WHEN 'traces' THEN 'notifications' ELSE 'done' END
      WHERE number = ? AND stage IN ('traces', 'last traces')`)
  }

  /** Does the next step of a regulation, and looks at `rowsMax` rows at the most. */
  step(request: StepRequest): ErasureStep {
    const erasure = this.#find.get(toStored(request.id)) as Erasure | undefined
    if (erasure === undefined) return { kind: 'nothing' }
    switch (erasure.stage) {
      case 'deliveries':
        return this.#eraseDeliveries(erasure, request)
      case 'left':
        return this.#eraseLeft(erasure, request)
      case 'seen':
        return this.#forgetMessageIds(erasure, request)
      case 'members':
        return this.#eraseMembers(erasure, request)
      case 'notifications':
        return this.#eraseNotifications(erasure, request)
      case 'traces':
      case 'last traces':
        return { kind: 'traces', number: erasure.number }
      case 'done':
        return { kind: 'nothing' }
    }
  }

  /** The regulations that the file is to be written anew for. */
  withTraces(): readonly number[] {
    const rows = this.#withTraces.all() as readonly { readonly number: number }[]
    return rows.map(({ number }) => number)
  }

  /** Notes that the file was written anew. */
  noteRewritten(number: number): void {
    this.#noteRewritten.run(number)
  }

  #eraseDeliveries(erasure: Erasure, { nowMs, rowsMax }: StepRequest): ErasureStep {
    const isWanted = this.#isWantedBy(erasure)
    const range = { afterId: 0, lastId: erasure.last_id }
    const { rows, isOver } = this.#look(erasure, { range, rowsMax }, (found) => {
      const wanted = found.filter(isWanted)
      this.#eraseOrLeave(erasure, wanted, nowMs)
      return wanted.length
    })
    if (isOver) this.#enter(erasure, 'left')
    return { kind: 'more', rows }
  }

  #eraseLeft(erasure: Erasure, { nowMs, rowsMax }: StepRequest): ErasureStep {
    const { number, at_key: atKey, at_id: atId } = erasure
    const limit = Math.min(rowsMax, erasedRowsMax)
    const left = this.#left.all(number, atKey, atId, limit) as readonly LeftRow[]
    for (const { destinationId, id } of left) this.#forgetLeft.run(number, destinationId, id)
    const found = left.map(({ id }) => this.#walk.find(id)).filter((row) => row !== undefined)
    this.#eraseOrLeave(erasure, found, nowMs)
    const last = left.at(-1)
    if (last !== undefined && left.length === limit) {
      this.#goOn.run('left', last.destinationId, last.id, number)
    } else if (this.#isLeft.get(number) === undefined) {
      this.#enter(erasure, 'seen')
    } else {
      this.#enter(erasure, 'left')
      return { kind: 'waiting' }
    }
    return { kind: 'more', rows: left.length }
  }

  #forgetMessageIds(erasure: Erasure, { rowsMax }: StepRequest): ErasureStep {
    const { number, created_at: createdAtMs } = erasure
    const limit = Math.min(rowsMax, lookedRowsMax)
    const place = erasure.at_key === '' ? ['', ''] : (JSON.parse(erasure.at_key) as string[])
    const [atSourceId = '', atMessageId = ''] = place
    const rows = this.#seenBehind.all(atSourceId, atMessageId, limit) as readonly SeenRow[]
    const subjects = this.#subjectsOf(number)
    const sourceIds = sourceIdsOf(erasure)
    for (const { source_id: sourceId, message_id: messageId, seen_at: seenAtMs } of rows) {
      if (seenAtMs > createdAtMs || !subjects.areNamedIn(messageId)) continue
      if (isOfSources(fromStored(sourceId), sourceIds)) this.#forgetSeen.run(sourceId, messageId)
    }
    const last = rows.at(-1)
    if (last !== undefined && rows.length === limit) {
      this.#goOn.run('seen', JSON.stringify([last.source_id, last.message_id]), 0, number)
    } else {
      this.#enter(erasure, 'members')
    }
    return { kind: 'more', rows: rows.length }
  }

  #eraseMembers(erasure: Erasure, { rowsMax }: StepRequest): ErasureStep {
    const { number, at_key: atKey } = erasure
    const limit = Math.min(rowsMax, erasedRowsMax)
    const users = this.#usersBehind.all(number, atKey, limit) as readonly UserRow[]
    const sourceIds = sourceIdsOf(erasure)
    let members = 0
    for (const { user_id: userId } of users) {
      members += this.#parts.audiences.eraseUser(fromStored(userId), sourceIds)
    }
    if (members > 0) this.#count.run(0, 0, members, number)
    const last = users.at(-1)
    if (last !== undefined && users.length === limit) {
      this.#goOn.run('members', last.user_id, 0, number)
    } else {
      const isLong = this.#walk.hasPending(notificationsOf(erasure))
      this.#enter(erasure, isLong ? 'traces' : 'notifications')
    }
    return { kind: 'more', rows: users.length }
  }

  #eraseNotifications(erasure: Erasure, { nowMs, rowsMax }: StepRequest): ErasureStep {
    const range = notificationsOf(erasure)
    const { rows, isOver } = this.#look(erasure, { range, rowsMax }, (found) => {
      const wanted = found.filter((row) => row.state === 'delivered' && row.user_id !== null)
      for (const row of wanted) this.#eraser.erase(row, nowMs)
      return wanted.length
    })
    if (!isOver) return { kind: 'more', rows }
    const isPending = this.#walk.hasPending(range)
    this.#enter(erasure, isPending ? 'notifications' : 'last traces')
    return isPending ? { kind: 'waiting' } : { kind: 'more', rows }
  }

  /** Looks at the deliveries behind those of the step before, until it has erased some. */
  #look(
    erasure: Erasure,
    { range, rowsMax }: { readonly range: IdRange; readonly rowsMax: number },
    erase: (rows: readonly ErasableRow[]) => number,
  ): { readonly rows: number; readonly isOver: boolean } {
    let lookedId = erasure.at_id
    let [looked, erased] = [0, 0]
    const most = Math.min(rowsMax, lookedRowsMax)
    while (looked < most && erased === 0) {
      const rows = this.#walk.next(lookedId, range, Math.min(erasedRowsMax, most - looked))
      const last = rows.at(-1)
      if (last === undefined) return { rows: looked, isOver: true }
      erased = erase(rows)
      looked += rows.length
      lookedId = last.id
    }
    this.#goOn.run(erasure.stage, '', lookedId, erasure.number)
    return { rows: looked, isOver: false }
  }

  /** Erases deliveries, but for those that are given out. */
  #eraseOrLeave({ number }: Erasure, rows: readonly ErasableRow[], nowMs: number): void {
    const erased = { pending: 0, settled: 0 }
    for (const row of rows) {
      const { destination_id: destinationId, id, state, type } = row
      const leasedIds = this.#parts.leases.idsOf(fromStored(destinationId))
      if (state === 'pending' && leasedIds.has(id)) {
        this.#leave.run(number, destinationId, id)
        continue
      }
      this.#eraser.erase(row, nowMs)
      if (type !== 'delete') erased[state === 'pending' ? 'pending' : 'settled']++
    }
    const { pending, settled } = erased
    if (pending + settled > 0) this.#count.run(pending, settled, 0, number)
  }

  /** Tells which deliveries are about users of an erasure, and of its sources. */
  #isWantedBy(erasure: Erasure): (row: ErasableRow) => boolean {
    const subjects = this.#subjectsOf(erasure.number)
    const sourceIds = sourceIdsOf(erasure)
    return ({ source_id: sourceId, type, state, user_id: userId, previous_id: previousId }) => {
      if (![userId, previousId].some((id) => id !== null && subjects.has(id))) return false
      // What another regulation wants to be told is not taken back.
      if (type === 'delete' && state !== 'delivered') return false
      return isOfSources(fromStored(sourceId), sourceIds)
    }
  }

  #subjectsOf(number: number): SubjectIds {
    if (this.#subjects?.number !== number) {
      const users = this.#users.all(number) as readonly UserRow[]
      const ids = new SubjectIds(users.map(({ user_id: userId }) => userId))
      this.#subjects = { number, ids }
    }
    return this.#subjects.ids
  }

  /** Begins a stage, or begins it anew. */
  #enter(erasure: Erasure, stage: Stage): void {
    const { number, stage: before, at_key: atKey, at_id: atId } = erasure
    if (stage === before && atKey === '' && atId === 0) return
    this.#goOn.run(stage, '', 0, number)
  }
}

function sourceIdsOf({ source_ids: json }: Erasure): readonly string[] | null {
  return JSON.parse(json ?? 'null') as readonly string[] | null
}

function notificationsOf({ last_id: afterId, last_notification_id: lastId }: Erasure): IdRange {
  return { afterId, lastId }
}
