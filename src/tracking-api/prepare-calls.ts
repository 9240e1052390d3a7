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
import type { Calls } from './read-calls.ts'

/** A call on its way to intake. */
export interface PreparedCall {
  /** Its place in the batch, from 0. */
  readonly index: number
  /** Its messageId, for the answer. */
  readonly messageId: string | null
  /** What intake gets: with what the batch and the connection add. */
  readonly call: unknown
  /** Its type when it is valid, but for its nesting; undefined when intake will refuse it. */
  readonly type: CallType | undefined
}

/** The calls of a request, parted by whether they may go to intake. */
export interface PreparedCalls {
  /** Those that may. */
  readonly ready: readonly PreparedCall[]
  /** Those that are too large. */
  readonly tooLarge: readonly RejectedCall[]
}

/** What calls are prepared with. */
export interface Surroundings {
  /** The length of the whole body. */
  readonly bodyBytes: number
  /** Who sent it. */
  readonly client: ClientConnection
}

/**
 * Puts under each call what its batch says for all of them, and what the connection tells. A call's
 * size is that of the call itself, before anything is added. To what intake will refuse nothing is.
 */
export function prepareCalls(
  { calls, defaults }: Calls,
  { bodyBytes, client }: Surroundings,
): PreparedCalls {
  const merge = batchMerger(defaults)
  const ready: PreparedCall[] = []
  const tooLarge: RejectedCall[] = []
  for (const [index, given] of calls.entries()) {
    const messageId = messageIdOf(given)
    // No part of a body is longer than the body.
    if (bodyBytes > limits.callBytesMax && isTooLarge(given)) {
      const message = `A call may have ${limits.callBytesMax} bytes`
      tooLarge.push({ index, messageId, code: 'event_too_large', message })
      continue
    }
    const check = checkCall(given)
    if (check.kind === 'invalid') {
      ready.push({ index, messageId, call: given, type: undefined })
    } else {
      const call = addClientContext(merge(check.call), client)
      ready.push({ index, messageId, call, type: check.type })
    }
  }
  return { ready, tooLarge }
}

function isTooLarge(given: unknown): boolean {
  // Most calls are far smaller: to write them again only to measure them is not worth it.
  if (isSurelyWithin(given, limits.callBytesMax)) return false
  // Intake refuses what is nested deeper than in its fields; it could not be written here.
  if (!isJsonObject(given) || isNestedDeeper(given, limits.callNestingMax + 1)) return false
  return Buffer.byteLength(JSON.stringify(given)) > limits.callBytesMax
}

function messageIdOf(given: unknown): string | null {
  const messageId = isJsonObject(given) ? given['messageId'] : undefined
  if (typeof messageId === 'number') return String(messageId)
  return typeof messageId === 'string' ? messageId : null
}
