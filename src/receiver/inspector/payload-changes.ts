import { shortText, type JsonValue } from '../../model/index.ts'
import type { EventLog } from '../event-log.ts'
import type { ReceivedEvent, WebhookContent } from '../received-event.ts'

/** A field that differs from the previous payload. */
export interface PayloadChange {
  /** The path of the field, such as `properties.products.0.sku`. */
  readonly path: string
  /** The previous value as JSON, at most 200 characters; null if there was none. */
  readonly before: string | null
  readonly after: string | null
}

/** The differences between a payload and an earlier one. `previous` is null if that is no longer kept. */
export type PayloadChanges = ReturnType<typeof payloadChanges>

const changesMax = 100
const charactersMax = 200
/** Fields that are not compared, because they differ in every webhook. */
const ownFields: ReadonlySet<string> = new Set(['messageId', 'timestamp'])

/** Compares a payload with the previous one of the same type, name and user (or group, in a group call). */
export function payloadChanges(event: ReceivedEvent, log: EventLog) {
  const subject = event.kind === 'webhook' ? subjectOf(event) : undefined
  const previous = log.events.findLast(
    (each) => each.kind === 'webhook' && each.seq < event.seq && subjectOf(each) === subject,
  )
  return previous === undefined
    ? { previous: null, changes: [], more: 0 }
    : compareEvents(event, previous)
}

/** Lists the changes from the payload of `other` to that of `event`. */
export function compareEvents(event: ReceivedEvent, other: ReceivedEvent) {
  const all = [...changesIn([], other.body ?? undefined, event.body ?? undefined)]
  const changes = all.slice(0, changesMax)
  return { previous: other.seq, changes, more: all.length - changes.length }
}

/** Makes a key that is equal for events that are compared with each other. */
function subjectOf({ type, userId, body }: WebhookContent): string {
  const id = type === 'group' ? body['groupId'] : (userId ?? body['anonymousId'])
  return JSON.stringify([type, id, body['event'] ?? body['name']])
}

function* changesIn(
  keys: readonly string[],
  before: JsonValue | undefined,
  after: JsonValue | undefined,
): Generator<PayloadChange> {
  const old = membersOf(before)
  const now = membersOf(after)
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
