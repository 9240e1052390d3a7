import {
  checkCall,
  evrouteVersion,
  formatTimestamp,
  isJsonObject,
  limits,
  messageOf,
  parseTimestamp,
  type CallType,
  type Rejection,
} from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { EncodedCall } from './batch.ts'

type PreparedCall =
  | { readonly kind: 'prepared'; readonly call: EncodedCall }
  | ({ readonly kind: 'refused' } & Rejection)

const library = Object.freeze({ name: 'evroute', version: evrouteVersion })
const contextOfLibrary = Object.freeze({ library })

/** A copy of a call, which `complete` changes. Undefined fields are not serialised. */
type Draft = Record<string, unknown> &
  Record<'type' | 'messageId' | 'timestamp' | 'sentAt' | 'context' | IdField, unknown>

type IdField = 'userId' | 'anonymousId' | 'groupId' | 'previousId'

/** Checks a copy of a call, fills in missing fields and serialises it. Never throws. */
export function prepareCall(
  value: unknown,
  type: CallType | undefined,
  runtime: Pick<Runtime, 'clock' | 'newId'>,
): PreparedCall {
  try {
    const check = checkCall(isJsonObject(value) ? draftOf(value, type) : value)
    if (check.kind === 'invalid') return refuse(check)
    const draft = check.call as Draft
    const messageId = idOf(draft.messageId) ?? runtime.newId()
    const problem = complete(draft, messageId, runtime)
    return problem === undefined ? encode(draft, check.type, messageId) : refuse(problem)
  } catch (error) {
    // The value has a circular reference, a BigInt, or a getter or `toJSON` that throws.
    const [reason] = messageOf(error).split('\n')
    return refuse({
      code: 'wrong_type',
      message: `The call cannot be serialised as JSON: ${reason ?? ''}`,
    })
  }
}

function draftOf(value: object, type: CallType | undefined): Draft {
  const draft: Draft = {
    // Define these fields before copying the call, because adding one later takes half a microsecond.
    type: undefined,
    messageId: undefined,
    userId: undefined,
    anonymousId: undefined,
    groupId: undefined,
    previousId: undefined,
    timestamp: undefined,
    sentAt: undefined,
    context: undefined,
    ...value,
  }
  if (type !== undefined) draft.type = type
  return draft
}

function complete(
  draft: Draft,
  messageId: string,
  { clock }: Pick<Runtime, 'clock'>,
): Rejection | undefined {
  draft.messageId = messageId
  draft.userId = idOf(draft.userId)
  draft.anonymousId = idOf(draft.anonymousId)
  draft.groupId = idOf(draft.groupId)
  draft.previousId = idOf(draft.previousId)
  // Other clients send the time as `originalTimestamp`, so imported rows may use this name.
  const timestamp = draft.timestamp ?? draft['originalTimestamp'] ?? ''
  if (timestamp === '') draft.timestamp = formatTimestamp(clock.nowMs())
  // Drop the `sentAt` of an imported row, because it belongs to an earlier request.
  draft.sentAt = undefined
  // Refuse an unreadable time here, because intake would replace it with the current time.
  if (timestamp !== '' && parseTimestamp(timestamp) === undefined) {
    return { code: 'wrong_type', message: 'timestamp must be a Date or an ISO 8601 string' }
  }
  draft.context = contextWithLibrary(draft.context)
  if (draft.type === 'page' && isJsonObject(draft['traits'])) {
    draft['properties'] = { ...draft['traits'], ...(draft['properties'] as object | undefined) }
    draft['traits'] = undefined
  }
  return undefined
}

function contextWithLibrary(context: unknown): unknown {
  if (!isJsonObject(context)) return contextOfLibrary
  return (context['library'] ?? null) === null ? { ...context, library } : context
}

/** Returns a checked id as a string; undefined if it is empty. */
function idOf(id: unknown): string | undefined {
  if (typeof id === 'number') return String(id)
  return typeof id === 'string' && id !== '' ? id : undefined
}

function encode(call: object, type: CallType, messageId: string): PreparedCall {
  const json = JSON.stringify(call)
  const bytes = Buffer.byteLength(json)
  if (bytes > limits.callBytesMax) {
    return refuse({
      code: 'event_too_large',
      message: `A call must have at most ${limits.callBytesMax} bytes as JSON: this one has ${bytes}`,
    })
  }
  return { kind: 'prepared', call: { messageId, type, json, bytes } }
}

function refuse({ code, message }: Rejection): PreparedCall {
  return { kind: 'refused', code, message }
}
