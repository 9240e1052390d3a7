import type {
  NewEvent,
  AddOutcome,
  AddRequest,
  AddResult,
  NewDelivery,
} from '../../delivery/index.ts'
import type { GivenUpDeliveries } from '../../model/index.ts'
import { isSuppressed } from '../suppressions.ts'
import { toStored, toStoredOrNull } from '../stored-text.ts'
import { givenUpByDestination, refusedReason } from '../added-deliveries.ts'
import { raw, sql } from '../sql.ts'
import type { SqlValue } from './database.ts'
import { rememberMessages } from './seen-messages.ts'
import { rowsStatement, type Statements } from './statements.ts'
import type { LogParts, StoreParts } from './store-parts.ts'

interface NewRow {
  readonly id: number
  readonly destinationId: string
  readonly event: NewEvent
  /** The index of the event in the batch; `deliveryIndex` is the delivery's index within the event. */
  readonly eventIndex: number
  readonly deliveryIndex: number
  readonly bodyId: number
  readonly isRefused: boolean
}

interface BodyRow {
  readonly id: number
  readonly body: string
  deliveries: number
}

const addBodies = rowsStatement(
  '(?, ?, ?)',
  (rows) => `INSERT OR FAIL INTO messages (id, deliveries, body) VALUES ${rows}`,
)

const addDeliveries = rowsStatement(
  "(?1, ?1, ?2, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', 'first', 0, 0, '[]', 0)",
  (rows) => `
    INSERT OR FAIL INTO deliveries (accepted_at, due_at, traceparent, destination_id, id, source_id,
      message_id, type, user_id, previous_id, body_id, state, lane, attempts, window_attempts, holds,
      manual_retries) VALUES ${rows}`,
)

/** Adds events with their deliveries, and leases those that `handOver` has room for. Call it in a transaction. */
export function addEvents(batch: AddRequest, parts: StoreParts): AddResult {
  const outcomes = outcomesOf(batch, parts)
  const rows = addRouted(batch, outcomes, parts)
  const refused = failRefused(rows, batch.nowMs, parts)
  // Lease the deliveries now, so that neither a claim nor other work in the transaction takes them.
  const leased = handedOver(rows, batch).map((row) => {
    const { eventIndex, deliveryIndex, id, destinationId } = row
    return { eventIndex, deliveryIndex, id, destinationId, lease: parts.leases.begin(row) }
  })
  return { outcomes, leased, refused }
}

/** Stores the messageIds of events, and returns the outcome of each event. */
function outcomesOf(batch: AddRequest, { statements, counts }: LogParts): readonly AddOutcome[] {
  const { events, ...moments } = batch
  // Drop the events of suppressed users first: not even their messageIds are stored.
  const suppressed = suppressedIn(events, statements)
  const kept = events.filter((_, index) => !suppressed.has(index))
  const areNew = rememberMessages(statements, kept, moments).values()
  counts.add('accepted', events.length)
  return events.map(({ deliveries }, index) => {
    const outcome = suppressed.has(index)
      ? 'suppressed'
      : outcomeOf(deliveries, areNew.next().value)
    counts.add(outcome, 1)
    return outcome
  })
}

const isSuppressedUser = (user: 1 | 2): string =>
  isSuppressed(raw("value ->> '$[0]'"), raw(`value ->> '$[${user}]'`)).sql
const suppressedSql = `SELECT key FROM json_each($1)
  WHERE ${isSuppressedUser(1)} OR ${isSuppressedUser(2)}`

/** Returns the indexes of events of suppressed users, except notifications of deletions: those are sent. */
function suppressedIn(events: readonly NewEvent[], statements: Statements): ReadonlySet<number> {
  if (statements.get(sql`SELECT 1 FROM suppressions LIMIT 1`) === undefined) return new Set()
  const users = events.map(({ type, sourceId, userId, previousId = null }) =>
    type === 'delete' ? [] : [sourceId, userId, previousId].map(toStoredOrNull),
  )
  const rows = statements.all({ sql: suppressedSql, values: [JSON.stringify(users)] })
  return new Set((rows as { readonly key: number }[]).map(({ key }) => key))
}

/** Adds the routed events. Destinations that get the same body share its row. */
function addRouted(
  batch: AddRequest,
  outcomes: readonly AddOutcome[],
  { statements, counts }: LogParts,
): readonly NewRow[] {
  if (!outcomes.includes('routed')) return []
  const last = statements.get(sql`SELECT coalesce(max(id), 0) AS id FROM messages`)
  let { id: lastBodyId } = last as Pick<BodyRow, 'id'>
  const bodies: BodyRow[] = []
  const rows: NewRow[] = []
  for (const [eventIndex, event] of batch.events.entries()) {
    if (outcomes[eventIndex] !== 'routed') continue
    const ofEvent: BodyRow[] = []
    for (const [
      deliveryIndex,
      { destinationId, body, backlogMax = Infinity },
    ] of event.deliveries.entries()) {
      let text = ofEvent.find((known) => known.body === body)
      if (text === undefined) {
        text = { id: ++lastBodyId, body, deliveries: 0 }
        ofEvent.push(text)
      }
      text.deliveries++
      const isRefused = backlogMax < Infinity && counts.pendingOf(destinationId) >= backlogMax
      counts.addFor(destinationId, 'deliveries', 1)
      counts.addFor(destinationId, isRefused ? 'failed' : 'pending', 1)
      const id = counts.takeId()
      rows.push({ id, destinationId, event, eventIndex, deliveryIndex, bodyId: text.id, isRefused })
    }
    bodies.push(...ofEvent)
  }
  const texts = bodies.map(({ id, deliveries, body }) => [id, deliveries, toStored(body)])
  statements.runRows(addBodies, texts)
  statements.runRows(addDeliveries, rows.map(valuesOf), [batch.nowMs, batch.traceparent ?? null])
  return rows
}

function valuesOf({ destinationId, id, event, bodyId }: NewRow): readonly SqlValue[] {
  return [
    toStored(destinationId),
    id,
    toStored(event.sourceId),
    toStored(event.messageId),
    event.type,
    toStoredOrNull(event.userId),
    toStoredOrNull(event.previousId ?? null),
    bodyId,
  ]
}

function failRefused(
  rows: readonly NewRow[],
  nowMs: number,
  { statements }: LogParts,
): readonly GivenUpDeliveries[] {
  const refused = rows.filter(({ isRefused }) => isRefused)
  if (refused.length === 0) return []
  const ids = JSON.stringify(refused.map(({ id }) => id))
  statements.run(sql`
    UPDATE OR FAIL deliveries SET state = 'failed', reason = ${refusedReason}, settled_at = ${nowMs}
    WHERE id IN (SELECT value FROM json_each(${ids}))`)
  return givenUpByDestination(refused.map(({ destinationId }) => destinationId))
}

function outcomeOf(deliveries: readonly NewDelivery[], isNew = false): AddOutcome {
  if (!isNew) return 'duplicate'
  return deliveries.length === 0 ? 'filtered' : 'routed'
}

/** Returns the new deliveries to lease: the first `deliveriesMax` of each destination. */
function handedOver(rows: readonly NewRow[], { handOver }: AddRequest): readonly NewRow[] {
  const rooms = new Map(handOver.map((room) => [room.destinationId, room.deliveriesMax]))
  return rows.filter(({ destinationId, isRefused }) => {
    const room = rooms.get(destinationId) ?? 0
    if (room <= 0 || isRefused) return false
    rooms.set(destinationId, room - 1)
    return true
  })
}
