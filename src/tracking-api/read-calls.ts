import {
  batchDefaultsBytes,
  isJsonObject,
  isNestedDeeper,
  limits,
  type BatchDefaults,
  type CallType,
  type JsonObject,
} from '../model/index.ts'
import { refuse, type Refusal } from './answer.ts'

/**
 * The content that a route accepts: a batch, or a call of the type in its path. The path of a pixel can
 * have any text in place of the type.
 */
export type Expected =
  { readonly kind: 'batch' } | { readonly kind: 'call'; readonly type: CallType | (string & {}) }

/** The calls of a request, and the fields that their batch adds to each. */
export interface Calls {
  readonly kind: 'calls'
  readonly calls: readonly unknown[]
  readonly defaults: BatchDefaults
  /** When the client sent the request, by its own clock; null if it doesn't say. */
  readonly sentAt: string | null
}

/** Extracts the calls from a document. The type in the path replaces the type of a single call. */
export function readCalls(document: unknown, expected: Expected): Calls | Refusal {
  return expected.kind === 'batch' ? readBatch(document) : readCall(document, expected.type)
}

function readCall(document: unknown, type: string): Calls {
  if (!isJsonObject(document)) {
    return { kind: 'calls', calls: [document], defaults: {}, sentAt: null }
  }
  const call = document['type'] === type ? document : { ...document, type }
  return { kind: 'calls', calls: [call], defaults: {}, sentAt: sentAtOf(document) }
}

function readBatch(document: unknown): Calls | Refusal {
  if (!isJsonObject(document)) {
    return refuse('invalid_batch', 'The body must be an object with an array of calls in `batch`')
  }
  const { batch } = document
  // Some clients send null for an empty batch.
  const calls: unknown = batch === null ? [] : batch
  if (!Array.isArray(calls)) return refuse('invalid_batch', 'The batch must be an array of calls')
  if (calls.length > limits.intakeBatchEventsMax) {
    const most = `A batch may have at most ${limits.intakeBatchEventsMax} calls`
    return refuse('too_many_events', `${most}, but this one has ${calls.length}`)
  }
  const defaults: { -readonly [Name in keyof BatchDefaults]: BatchDefaults[Name] } = {}
  for (const name of ['context', 'integrations'] as const) {
    const value = document[name] ?? undefined
    if (value === undefined) continue
    if (!isJsonObject(value)) {
      return refuse('invalid_batch', `The ${name} of a batch must be an object`)
    }
    defaults[name] = value
  }
  const refusal = refusalOf(defaults, calls.length)
  if (refusal !== undefined) return refusal
  return { kind: 'calls', calls, defaults, sentAt: sentAtOf(document) }
}

/** Limits the common fields, because copying them into every call could make a small body huge. */
function refusalOf(defaults: BatchDefaults, callCount: number): Refusal | undefined {
  if (isNestedDeeper(defaults, limits.callNestingMax + 1)) {
    const message = `must not be nested more than ${limits.callNestingMax} levels deep`
    return refuse('invalid_batch', `The context and integrations of a batch ${message}`)
  }
  const bytes = batchDefaultsBytes(defaults)
  if (bytes * callCount <= limits.intakeBatchMergedBytesMax) return undefined
  const message =
    `Exceeds the payload limit: copying the ${bytes} bytes of the batch's context and integrations into ` +
    `${callCount} calls would add more than ${limits.intakeBatchMergedBytesMax} bytes`
  return refuse('batch_too_large', message)
}

function sentAtOf({ sentAt }: JsonObject): string | null {
  return typeof sentAt === 'string' ? sentAt : null
}
