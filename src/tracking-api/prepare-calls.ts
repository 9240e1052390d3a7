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

/** Facts about a call that the answer to its request needs. */
export interface SentCall {
  /** Its place in the batch, from 0. */
  readonly index: number
  /** Its messageId; null when it has none. */
  readonly messageId: string | null
}

/** The calls of a request, parted by whether they may go to intake. */
export interface PreparedCalls {
  /** The acceptable calls, with the additions of the batch and the connection. */
  readonly calls: readonly unknown[]
  /** Their types where they are valid, but for their nesting; undefined where intake will refuse them. */
  readonly checkedTypes: readonly (CallType | undefined)[]
  /** Which calls of the request they are. */
  readonly sent: readonly SentCall[]
  /** Those that are too large. */
  readonly tooLarge: readonly RejectedCall[]
}

/** What calls are prepared with. */
export interface Surroundings {
  /** The length of the whole body. */
  readonly bodyBytes: number
  /** The sender. */
  readonly client: ClientConnection
  /** What the clients of the source are, where it says so. */
  readonly sourceType?: SourceType | undefined
}

/**
 * Merges the batch's common fields and the connection's facts into each call. The size of a call is measured
 * before that. Calls that intake will refuse stay as they are.
 */
export function prepareCalls(
  { calls: given, defaults }: Calls,
  { bodyBytes, client, sourceType }: Surroundings,
): PreparedCalls {
  const merge = batchMerger(defaults)
  const calls: unknown[] = []
  const checkedTypes: (CallType | undefined)[] = []
  const sent: SentCall[] = []
  const tooLarge: RejectedCall[] = []
  for (const [index, call] of given.entries()) {
    const messageId = messageIdOf(call)
    // No part of a body is longer than the body.
    if (bodyBytes > limits.callBytesMax && isTooLarge(call)) {
      const message = `A call may have ${limits.callBytesMax} bytes`
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
  // Most calls are far smaller: to write them again only to measure them is not worth it.
  if (isSurelyWithin(given, limits.callBytesMax)) return false
  // Intake refuses calls with deeper nesting outside their fields. They could not be written here.
  if (!isJsonObject(given) || isNestedDeeper(given, limits.callNestingMax + 1)) return false
  return Buffer.byteLength(JSON.stringify(given)) > limits.callBytesMax
}

function messageIdOf(given: unknown): string | null {
  const messageId = isJsonObject(given) ? given['messageId'] : undefined
  if (typeof messageId === 'number') return String(messageId)
  return typeof messageId === 'string' ? messageId : null
}
