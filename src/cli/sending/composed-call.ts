import {
  messageOf,
  parseFiniteJson,
  plainText,
  sampleCall,
  SettingError,
  type EventType,
  type JsonObject,
  type JsonValue,
} from '../../model/index.ts'

/** The fields that have a flag. */
export const fieldNames = [
  'event',
  'userId',
  'anonymousId',
  'groupId',
  'previousId',
  'name',
] as const

type FieldName = (typeof fieldNames)[number]

type CallFlags = Readonly<Record<FieldName, string | undefined>>

/** Returns the flag that sets a field: `--user-id` for `userId`. */
export function flagName(field: string): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** The fields that flags may set, by type. Other flags are refused, not ignored. */
const fieldsOf: Readonly<Record<EventType, readonly FieldName[]>> = {
  identify: ['userId', 'anonymousId'],
  track: ['userId', 'anonymousId', 'event'],
  page: ['userId', 'anonymousId', 'name'],
  screen: ['userId', 'anonymousId', 'name'],
  group: ['userId', 'anonymousId', 'groupId'],
  alias: ['userId', 'previousId'],
  delete: ['userId'],
}

/** The fields that describe the call rather than the user. */
const ownFields: readonly FieldName[] = ['event', 'name', 'groupId', 'previousId']

/** The fields of the sample that remain if a flag or a pair describes the call. A track call must keep an `event`. */
const keptFields: readonly string[] = ['type', 'userId', 'groupId', 'previousId', 'event']

/**
 * Makes a call from the sample of its type. Flags set its fields, and `key=value` pairs its properties or traits. With
 * any flag or pair that describes the call, only `keptFields` of the sample remain.
 */
export function composeCall(
  type: EventType,
  flags: CallFlags,
  pairs: readonly string[],
): JsonObject {
  const unused = fieldNames.find(
    (field) => flags[field] !== undefined && !fieldsOf[type].includes(field),
  )
  if (unused !== undefined) {
    throw new SettingError(
      flagName(unused),
      `Cannot use ${flagName(unused)} with ${type}: it has no such field`,
    )
  }
  if (type === 'delete' && flags.userId === undefined) {
    throw new SettingError(
      '--user-id',
      'Cannot send a delete without --user-id: it must name a user',
      'Add --user-id <id>.',
    )
  }
  const isOwn = pairs.length > 0 || ownFields.some((field) => flags[field] !== undefined)
  const sample = Object.entries(sampleCall(type))
  const call: Record<string, JsonValue | undefined> = Object.fromEntries(
    sample.filter(([field]) => !isOwn || keptFields.includes(field)),
  )
  if (flags.anonymousId !== undefined && flags.userId === undefined) delete call['userId']
  for (const field of fieldsOf[type]) {
    if (flags[field] !== undefined) call[field] = flags[field]
  }
  if (pairs.length === 0) return call
  const pairsField = pairsFields[type]
  if (pairsField === undefined) {
    throw new SettingError('fields', `Cannot use key=value with ${type}: it contains only ids`)
  }
  // Object.fromEntries stores even `__proto__` as plain data.
  return { ...call, [pairsField]: Object.fromEntries(pairs.map(parsePair)) }
}

/** Returns a note if a pair has the name of a field, such as `userId=u_1`: only a flag sets a field. */
export function mistakenPair(
  type: EventType,
  flags: CallFlags,
  pairs: readonly string[],
): string | undefined {
  for (const field of fieldsOf[type]) {
    const pair = pairs.find((text) => text.startsWith(`${field}=`))
    if (pair === undefined || flags[field] !== undefined) continue
    const key = `${pairsFields[type] ?? ''}.${field}`
    return `${plainText(pair)} sets ${key}. To set ${field}, pass ${flagName(field)}.`
  }
  return undefined
}

/** The field that holds the `key=value` pairs. Alias and delete have no such field. */
const pairsFields: Partial<Readonly<Record<EventType, 'properties' | 'traits'>>> = {
  ...{ identify: 'traits', group: 'traits' },
  ...{ track: 'properties', page: 'properties', screen: 'properties' },
}

/** Parses `key=text` or `key:=json`. */
function parsePair(pair: string): readonly [string, JsonValue] {
  const match = /^(.+?)(:?=)(.*)$/s.exec(pair)
  if (match === null) {
    throw new SettingError(
      'fields',
      `Cannot read the field "${pair}"`,
      'Write key=text or key:=json, such as plan=pro or revenue:=39.95.',
    )
  }
  const [, key = '', operator, value = ''] = match
  return [key, operator === ':=' ? parseValue(key, value) : value]
}

function parseValue(key: string, json: string): JsonValue {
  try {
    return parseFiniteJson(json) as JsonValue
  } catch (error) {
    throw new SettingError(
      'fields',
      `Cannot read the value of ${key}: ${messageOf(error)}`,
      'Write JSON after :=, such as a number, true, null, "text", [...] or {...}.',
    )
  }
}
