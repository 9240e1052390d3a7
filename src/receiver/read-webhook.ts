import {
  eventTypes,
  isEventType,
  isJsonObject,
  isTextNestedDeeper,
  limits,
  messageOf,
  type EventType,
  type JsonObject,
  shortText,
} from '../model/index.ts'
import type { MalformedContent, RefusalCode, WebhookContent } from './received-event.ts'

/** Why bytes are not a webhook. */
export type MalformedCode =
  | 'invalid_json'
  | 'too_deep'
  | 'not_an_object'
  | 'no_type'
  | 'unknown_type'
  | 'no_event'
  | 'no_group_id'
  | 'no_previous_id'
  | 'no_user_id'

/** The content of a request. */
export interface Reading {
  readonly content: WebhookContent | MalformedContent
  /** What is wrong with the content; null for a webhook. */
  readonly flaw: string | null
}

/** Maximum nesting. A webhook has one level more than the fields of a call. */
const levelsMax = limits.callNestingMax + 1

/** Reads a webhook, or explains why the bytes are not a webhook. The version and the user ids may be missing. */
export function readWebhook(rawBody: Buffer): Reading {
  const text = decode(rawBody)
  if (typeof text !== 'string') return text
  if (isTextNestedDeeper(text, levelsMax)) {
    return malformed('too_deep', `The body is nested more than ${levelsMax} levels deep`)
  }
  const parsing = parse(text)
  if ('flaw' in parsing) return parsing
  const body = parsing.value
  if (!isJsonObject(body)) {
    return malformed('not_an_object', `The body is ${describe(body)}, not a JSON object`)
  }
  const type = body['type']
  if (type === undefined || type === null || type === '') {
    return malformed('no_type', 'The body has no type')
  }
  if (!isEventType(type)) return malformed('unknown_type', unknownType(type))
  return (
    missingField(type, body) ?? {
      content: { kind: 'webhook', type, userId: userIdOf(body), body, code: null },
      flaw: null,
    }
  )
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

function decode(rawBody: Buffer): string | Reading {
  if (rawBody.length === 0) return malformed('invalid_json', 'The body is empty')
  if (rawBody[0] === 0x1f && rawBody[1] === 0x8b) {
    return malformed('invalid_json', 'The body is compressed with gzip: webhooks are plain JSON')
  }
  try {
    return strictUtf8.decode(rawBody)
  } catch {
    return malformed('invalid_json', 'The body is not valid UTF-8')
  }
}

function parse(text: string): { readonly value: unknown } | Reading {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    // The parser's message quotes the body, so shorten it.
    return malformed('invalid_json', `The body is not JSON: ${shortText(messageOf(error), 120)}`)
  }
}

type NeededField = readonly [code: MalformedCode, message: string, ...names: string[]]

/** The fields that webhooks need besides their type. If a field has several names, any of them will do. */
const neededFields: Partial<Readonly<Record<EventType, readonly NeededField[]>>> = {
  track: [['no_event', 'A track call needs an event name', 'event']],
  group: [['no_group_id', 'A group needs a groupId', 'groupId']],
  alias: [
    ['no_previous_id', 'An alias needs a "Previous ID" or previousId', 'Previous ID', 'previousId'],
    ['no_user_id', 'An alias needs a "User ID" or userId', 'User ID', 'userId'],
  ],
  delete: [['no_user_id', 'A delete needs a userId', 'userId']],
}

function missingField(type: EventType, body: JsonObject): Reading | undefined {
  const isGiven = (name: string): boolean => {
    const value = body[name]
    // Ids may be numbers, but the name of an event may not.
    if (typeof value === 'number') return name !== 'event'
    return typeof value === 'string' && value !== ''
  }
  const needed = neededFields[type] ?? []
  const missing = needed.find(([, , ...names]) => !names.some(isGiven))
  return missing && malformed(missing[0], missing[1])
}

function unknownType(type: unknown): string {
  const found = typeof type === 'string' ? `"${shortText(type)}"` : describe(type)
  return `The body's type is ${found}, not one of ${eventTypes.join(', ')}`
}

function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function userIdOf(body: JsonObject): string | null {
  const id = body['userId'] ?? body['User ID']
  return typeof id === 'string' || typeof id === 'number' ? String(id) : null
}

/** Describes a request that is not a webhook. */
export function malformed(code: RefusalCode, flaw: string): Reading {
  return { content: { kind: 'malformed', type: null, userId: null, body: null, code }, flaw }
}
