import { isCallType, type CallType } from './call.ts'
import { isJsonObject, isUnsafeInteger, type JsonObject } from './json.ts'
import { limits } from './limits.ts'

/** Why a call is refused. `invalid_json` is a row or body that cannot be parsed. */
export type RejectionCode = (typeof rejectionCodes)[number]

const rejectionCodes = [
  'invalid_json',
  'not_an_object',
  'unknown_type',
  'wrong_type',
  'no_user_anon_id',
  'no_event',
  'no_group_id',
  'no_previous_id',
  'no_user_id',
  'event_too_large',
] as const

/** Whether a code names a fault of the call itself. Other codes say why a valid call was not delivered. */
export function isRejectionCode(code: string): code is RejectionCode {
  return (rejectionCodes as readonly string[]).includes(code)
}

/** Why a call was refused. */
export interface Rejection {
  /** The stable name of the reason. */
  readonly code: RejectionCode
  /** The reason in words, naming the field. */
  readonly message: string
}

/** A valid call and its type, or the reason to refuse it. */
export type CallCheck =
  | { readonly kind: 'valid'; readonly type: CallType; readonly call: JsonObject }
  | ({ readonly kind: 'invalid' } & Rejection)

const objectFields = ['context', 'integrations', 'properties', 'traits'] as const
const idFields = ['userId', 'anonymousId', 'groupId', 'previousId', 'messageId'] as const
const textFields = ['event', 'name', 'category'] as const

/** Maximum number of characters that a message quotes from an unknown type. */
const shownTypeLengthMax = 60

/** Never throws. Null fields, empty ids and an empty event count as absent. Ids may be numbers below 2^53. */
export function checkCall(value: unknown): CallCheck {
  if (!isJsonObject(value)) return invalid('not_an_object', 'A call must be a JSON object')
  const type = value['type']
  if (!isCallType(type)) return invalid('unknown_type', unknownType(type))
  const problem = wrongType(value) ?? missingField(type, value)
  return problem === undefined
    ? { kind: 'valid', type, call: value }
    : { kind: 'invalid', ...problem }
}

function unknownType(type: unknown): string {
  const found = type === undefined || type === null ? 'it has none' : `found ${shown(type)}`
  return `A call's type must be identify, track, page, screen, group or alias: ${found}`
}

/** Describes an unknown type. Quotes only strings: `JSON.stringify` throws on deep nesting, cycles and BigInt. */
function shown(type: unknown): string {
  if (typeof type === 'string') return JSON.stringify(type.slice(0, shownTypeLengthMax))
  if (Array.isArray(type)) return 'an array'
  return typeof type === 'object' ? 'an object' : `a ${typeof type}`
}

function wrongType(call: JsonObject): Rejection | undefined {
  const object = objectFields.find((field) => isPresent(call[field]) && !isJsonObject(call[field]))
  if (object !== undefined) return { code: 'wrong_type', message: `${object} must be an object` }
  const id = idFields.find((field) => isPresent(call[field]) && !isId(call[field]))
  if (id !== undefined) return { code: 'wrong_type', message: `${id} must be a string` }
  // Rounding could make different ids equal.
  const rounded = idFields.find((field) => isUnsafeInteger(call[field]))
  if (rounded !== undefined) {
    const message = `${rounded} must be a string, because JSON rounds whole numbers above 2^53`
    return { code: 'wrong_type', message }
  }
  const messageId = call['messageId']
  if (typeof messageId === 'string' && messageId.length > limits.messageIdLengthMax) {
    const message = `messageId must have at most ${limits.messageIdLengthMax} characters`
    return { code: 'wrong_type', message }
  }
  const text = textFields.find((field) => isPresent(call[field]) && typeof call[field] !== 'string')
  if (text !== undefined) return { code: 'wrong_type', message: `${text} must be a string` }
  return undefined
}

function missingField(type: CallType, call: JsonObject): Rejection | undefined {
  const has = (field: string): boolean => isPresent(call[field]) && call[field] !== ''
  if (type === 'alias') {
    if (!has('previousId')) return { code: 'no_previous_id', message: 'alias needs a previousId' }
    if (!has('userId')) return { code: 'no_user_id', message: 'alias needs a userId' }
    return undefined
  }
  if (type === 'track' && !has('event'))
    return { code: 'no_event', message: 'track needs an event' }
  if (type === 'group' && !has('groupId')) {
    return { code: 'no_group_id', message: 'group needs a groupId' }
  }
  if (!has('userId') && !has('anonymousId')) {
    return { code: 'no_user_anon_id', message: `${type} needs a userId or an anonymousId` }
  }
  return undefined
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

function isId(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}

function invalid(code: RejectionCode, message: string): CallCheck {
  return { kind: 'invalid', code, message }
}
