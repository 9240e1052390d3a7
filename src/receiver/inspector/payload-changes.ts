import { shortText, type JsonValue } from '../../model/index.ts'
import type { EventLog } from '../event-log.ts'
import type { ReceivedEvent, WebhookContent } from '../received-event.ts'

/** A field that differs from the previous payload. */
export interface PayloadChange {
  /** Path such as `properties.products.0.sku`. */
  readonly path: string
  /** The previous value as JSON, at most 200 characters; null if it was absent. */
  readonly before: string | null
  /** The current value, in the same form. */
  readonly after: string | null
}

/** The differences between a payload and an earlier one. */
export interface PayloadChanges {
  /** The number of the earlier event; null if there is none, or it is no longer kept. */
  readonly previous: number | null
  /** At most 100 changes. */
  readonly changes: readonly PayloadChange[]
  /** Number of further changes. */
  readonly more: number
}

const changesMax = 100
const charactersMax = 200
/** Fields that differ in every webhook, and are not compared. */
const ownFields: ReadonlySet<string> = new Set(['messageId', 'timestamp'])

/**
 * Compares a payload with the previous one of the same type, user and name. A group call is compared with the previous
 * one of the same group and name.
 */
export function payloadChanges(event: ReceivedEvent, log: EventLog): PayloadChanges {
  if (event.kind !== 'webhook') return { previous: null, changes: [], more: 0 }
  const subject = subjectOf(event)
  const previous = log.events.findLast(
    (each) => each.kind === 'webhook' && each.seq < event.seq && subjectOf(each) === subject,
  )
  return previous === undefined
    ? { previous: null, changes: [], more: 0 }
    : compareEvents(event, previous)
}

/** Compares the payloads of two events. */
export function compareEvents(event: ReceivedEvent, other: ReceivedEvent): PayloadChanges {
  const all = [...changesIn([], other.body ?? undefined, event.body ?? undefined)]
  const changes = all.slice(0, changesMax)
  return { previous: other.seq, changes, more: all.length - changes.length }
}

/** Makes a key that events share if they are compared with each other. */
function subjectOf({ type, userId, body }: WebhookContent): string {
  const id = type === 'group' ? body['groupId'] : (userId ?? body['anonymousId'])
  return JSON.stringify([type, id, body['event'] ?? body['name']])
}

function* changesIn(
  keys: readonly string[],
  before: JsonValue | undefined,
  after: JsonValue | undefined,
): Generator<PayloadChange> {
  const [old, now] = [membersOf(before), membersOf(after)]
  if (old !== undefined && now !== undefined && Array.isArray(before) === Array.isArray(after)) {
    for (const key of new Set([...old.keys(), ...now.keys()])) {
      if (keys.length === 0 && ownFields.has(key)) continue
      yield* changesIn([...keys, key], old.get(key), now.get(key))
    }
  } else if (textOf(before) !== textOf(after)) {
    const path = shortText(keys.join('.'), charactersMax)
    yield { path, before: shown(before), after: shown(after) }
  }
}

/** The members of an object or a list; undefined for other values. */
function membersOf(value: JsonValue | undefined): ReadonlyMap<string, JsonValue> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return new Map(Object.entries(value as Readonly<Record<string, JsonValue>>))
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value)
}

function shown(value: JsonValue | undefined): string | null {
  const text = textOf(value)
  return text === undefined ? null : shortText(text, charactersMax)
}
