import {
  batchMerger,
  checkCall,
  isJsonObject,
  isNestedDeeper,
  limits,
  type CallType,
} from '../model/index.ts'
import type { RejectedCall } from './answer.ts'
import { addClientContext, type ClientConnection } from './client-context.ts'
import { isSurelyWithin } from './json-size.ts'
import type { SourceType } from './ports.ts'
import type { Calls } from './read-calls.ts'

/** The facts about a call that the answer to its request needs. */
export interface SentCall {
  readonly index: number
  readonly messageId: string | null
}

/** The calls of a request: those for intake, and those that are too large. */
export interface PreparedCalls {
  /** Calls for intake, with the common fields of the batch and facts about the client. */
  readonly calls: readonly unknown[]
  /** The type of each call that passes `checkCall`; undefined for others. Intake still checks the nesting. */
  readonly checkedTypes: readonly (CallType | undefined)[]
  readonly sent: readonly SentCall[]
  readonly tooLarge: readonly RejectedCall[]
}

/** Facts about the request that the calls arrived in. */
export interface RequestFacts {
  readonly bodyBytes: number
  readonly client: ClientConnection
  readonly sourceType?: SourceType | undefined
}

/** Checks the size of each call, and adds the batch's common fields and facts about the client to valid ones. */
export function prepareCalls(
  { calls: given, defaults }: Calls,
  { bodyBytes, client, sourceType }: RequestFacts,
): PreparedCalls {
  const merge = batchMerger(defaults)
  const calls: unknown[] = []
  const checkedTypes: (CallType | undefined)[] = []
  const sent: SentCall[] = []
  const tooLarge: RejectedCall[] = []
  for (const [index, call] of given.entries()) {
    const messageId = messageIdOf(call)
    // A call in a small body is small too.
    if (bodyBytes > limits.callBytesMax && isTooLarge(call)) {
      const message = `A call may be at most ${limits.callBytesMax} bytes`
      tooLarge.push({ index, messageId, code: 'event_too_large', message })
      continue
    }
    const check = checkCall(call)
    const isValid = check.kind === 'valid'
    calls.push(isValid ? addClientContext(merge(check.call), client, sourceType) : call)
    checkedTypes.push(isValid ? check.type : undefined)
    sent.push({ index, messageId })
  }
  return { calls, checkedTypes, sent, tooLarge }
}

function isTooLarge(given: unknown): boolean {
  // Most calls are far smaller, so an estimate saves serialising them.
  if (isSurelyWithin(given, limits.callBytesMax)) return false
  // JSON.stringify could overflow the stack with deeper nesting, which intake rejects anyway.
  if (!isJsonObject(given) || isNestedDeeper(given, limits.callNestingMax + 1)) return false
  return Buffer.byteLength(JSON.stringify(given)) > limits.callBytesMax
}

function messageIdOf(given: unknown): string | null {
  const messageId = isJsonObject(given) ? given['messageId'] : undefined
  if (typeof messageId === 'number') return String(messageId)
  return typeof messageId === 'string' ? messageId : null
}
