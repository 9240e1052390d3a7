import type {
  NewEvent,
  AddOutcome,
  AddRequest,
  AddResult,
  NewDelivery,
} from '../../delivery/index.ts'
import type { GivenUpDeliveries } from '../../model/index.ts'
import { everySource, isOfSource } from '../suppressions.ts'
import { fromStored, toStored, toStoredOrNull } from '../stored-text.ts'
import { countRefused, refusedReason } from '../added-deliveries.ts'
import type { Database, SqlValue, Statement } from './database.ts'
import type { Counts } from './counts.ts'
import type { Leases } from './leases.ts'
import { RowsStatement } from './rows-statement.ts'
import { SeenMessages } from './seen-messages.ts'

interface NewRow {
  readonly id: number
  readonly destinationId: string
  readonly event: NewEvent
  /** The index of the event in the batch; `place` is the delivery's index within the event. */
  readonly eventPlace: number
  readonly place: number
  readonly bodyId: number
  readonly isRefused: boolean
}

interface BodyRow {
  readonly id: number
  readonly body: string
  deliveries: number
}

/** Adds events with their deliveries. The caller begins and ends transactions. */
export class Adding {
  readonly #counts: Counts
  readonly #leases: Leases
  readonly #seen: SeenMessages
  readonly #anySuppressed: Statement
  readonly #suppressionsOf: Statement
  readonly #lastBodyId: Statement
  readonly #addBodies: RowsStatement
  readonly #addDeliveries: RowsStatement
  readonly #refuse: RowsStatement

  constructor(database: Database, parts: { readonly counts: Counts; readonly leases: Leases }) {
    this.#counts = parts.counts
    this.#leases = parts.leases
    this.#seen = new SeenMessages(database)
    this.#anySuppressed = database.prepare('SELECT 1 FROM suppressions LIMIT 1')
    this.#suppressionsOf = database.prepare('SELECT source_id FROM suppressions WHERE user_id = ?')
    this.#lastBodyId = database.prepare('SELECT coalesce(max(id), 0) AS id FROM messages')
    this.#addBodies = new RowsStatement(
      database,
      '(?, ?, ?)',
      (rows) => `INSERT OR FAIL INTO messages (id, deliveries, body) VALUES ${rows}`,
    )
    this.#addDeliveries = new RowsStatement(
      database,
      "(?1, ?1, ?2, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', 'first', 0, 0, '[]', 0)",
      (rows) => `
        INSERT OR FAIL INTO deliveries (accepted_at, due_at, traceparent, destination_id, id, source_id,
          message_id, type, user_id, previous_id, body_id, state, lane, attempts, window_attempts, holds,
          manual_retries) VALUES ${rows}`,
    )
    this.#refuse = new RowsStatement(
      database,
      '?',
      (ids) => `
        UPDATE OR FAIL deliveries SET state = 'failed', reason = '${refusedReason}', settled_at = ?
        WHERE id IN (${ids})`,
    )
  }

  /** Adds events with their deliveries, and leases as many of these as the batch allows. */
  add(batch: AddRequest): AddResult {
    const outcomes = this.#outcomesOf(batch)
    const rows = this.#addRouted(batch, outcomes)
    const refused = this.#failRefused(rows, batch.nowMs)
    // Lease them now, so that no claim can lease them too.
    const leased = handedOver(rows, batch).map((row) => {
      const { eventPlace, place, id, destinationId } = row
      return { eventPlace, place, id, destinationId, lease: this.#leases.begin(row) }
    })
    return { outcomes, leased, refused }
  }

  /** Stores the messageIds of events, and returns the outcome of each event. */
  #outcomesOf({ events, ...moments }: AddRequest): readonly AddOutcome[] {
    // Check suppression first: for a suppressed user, not even the messageId is stored.
    // If no user is suppressed, skip the look-up for each event.
    const mayDrop = this.#anySuppressed.get() !== undefined
    const isDropped = events.map((event) => mayDrop && this.#isDropped(event))
    const kept = events.filter((_, place) => isDropped[place] === false)
    const areNew = this.#seen.remember(kept, moments).values()
    this.#counts.add('accepted', events.length)
    return events.map(({ deliveries }, place) => {
      const outcome =
        isDropped[place] === true ? 'suppressed' : outcomeOf(deliveries, areNew.next().value)
      this.#counts.add(outcome, 1)
      return outcome
    })
  }

  #isDropped({ sourceId, type, userId, previousId }: NewEvent): boolean {
    if (type === 'delete') return false
    return [userId, previousId].some((id) => {
      if (typeof id !== 'string') return false
      const rows = this.#suppressionsOf.all(toStored(id)) as readonly { source_id: string }[]
      return rows.some((row) => {
        return row.source_id === everySource || isOfSource(sourceId, fromStored(row.source_id))
      })
    })
  }

  /** Adds the routed events. Destinations that get the same body of an event share one row for it. */
  #addRouted(batch: AddRequest, outcomes: readonly AddOutcome[]): readonly NewRow[] {
    if (!outcomes.includes('routed')) return []
    let lastBodyId = (this.#lastBodyId.get() as Pick<BodyRow, 'id'>).id
    const bodies: BodyRow[] = []
    const rows: NewRow[] = []
    for (const [eventPlace, event] of batch.events.entries()) {
      if (outcomes[eventPlace] !== 'routed') continue
      const ofEvent: BodyRow[] = []
      for (const [
        place,
        { destinationId, body, backlogMax = Infinity },
      ] of event.deliveries.entries()) {
        let text = ofEvent.find((known) => known.body === body)
        if (text === undefined) {
          text = { id: ++lastBodyId, body, deliveries: 0 }
          ofEvent.push(text)
        }
        text.deliveries++
        const isRefused =
          backlogMax < Infinity && this.#counts.pendingOf(destinationId) >= backlogMax
        this.#counts.addFor(destinationId, 'deliveries', 1)
        this.#counts.addFor(destinationId, isRefused ? 'failed' : 'pending', 1)
        const id = this.#counts.takeId()
        rows.push({ id, destinationId, event, eventPlace, place, bodyId: text.id, isRefused })
      }
      bodies.push(...ofEvent)
    }
    this.#write(bodies, rows, batch)
    return rows
  }

  #write(
    bodies: readonly BodyRow[],
    rows: readonly NewRow[],
    { nowMs, traceparent }: AddRequest,
  ): void {
    const texts: SqlValue[] = []
    for (const { id, deliveries, body } of bodies) texts.push(id, deliveries, toStored(body))
    this.#addBodies.run(texts)
    const values: SqlValue[] = []
    for (const { destinationId, id, event, bodyId } of rows) {
      values.push(
        toStored(destinationId),
        id,
        toStored(event.sourceId),
        toStored(event.messageId),
        event.type,
        toStoredOrNull(event.userId),
        toStoredOrNull(event.previousId ?? null),
        bodyId,
      )
    }
    this.#addDeliveries.run(values, [nowMs, traceparent ?? null])
  }

  #failRefused(rows: readonly NewRow[], nowMs: number): readonly GivenUpDeliveries[] {
    const refused = rows.filter(({ isRefused }) => isRefused)
    this.#refuse.run(
      refused.map(({ id }) => id),
      [nowMs],
    )
    return countRefused(refused.map(({ destinationId }) => destinationId))
  }
}

function outcomeOf(deliveries: readonly NewDelivery[], isNew = false): AddOutcome {
  if (!isNew) return 'duplicate'
  return deliveries.length === 0 ? 'filtered' : 'routed'
}

/** Returns the new deliveries to lease, in the order of the batch. */
function handedOver(rows: readonly NewRow[], { handOver }: AddRequest): readonly NewRow[] {
  const rooms = new Map(handOver.map((room) => [room.destinationId, room.deliveriesMax]))
  return rows.filter(({ destinationId, isRefused }) => {
    const room = rooms.get(destinationId) ?? 0
    if (room <= 0 || isRefused) return false
    rooms.set(destinationId, room - 1)
    return true
  })
}
