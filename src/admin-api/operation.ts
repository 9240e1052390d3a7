import type { z } from 'zod'
import type { AnswerName } from './answer-schemas.ts'
import type { Answer, Refusal } from './answer.ts'

/** Input of an operation, besides its `value`. */
export interface OperationInput {
  readonly params: Readonly<Record<string, string | string[]>>
  /** Aborts when the client has left. */
  readonly signal: AbortSignal
}

/** A record as `--json` prints it, without its version. */
export type ApiRecord = Readonly<Record<string, unknown>>

/** Input of an operation that receives an upload and sends records while it works. */
export interface StreamingInput extends OperationInput {
  /** The body, read no faster than the client reads the answer. Throws UploadError if it is incomplete. */
  readonly upload: AsyncIterable<Uint8Array>
  /** Sends records at once. The first one starts the answer with the status 200. */
  readonly sendRecords: (records: readonly ApiRecord[]) => void
  /** Resolves once the client has read the sent records or has left. Await it before sending more. */
  readonly drained: () => Promise<void>
}

/** The end of a streaming operation: its last record, or a refusal. */
export type StreamingEnd = { readonly record: ApiRecord } | Refusal

interface Route {
  readonly method: 'get' | 'post'
  /** The path below `/v1`, with its named parts in braces. */
  readonly path: string
  readonly answer: AnswerName
  readonly summary: string
}

interface OneAnswer<Value> {
  /** Maximum size of the body; 64 KB by default. */
  readonly bodyBytesMax?: number
  /** Answers a request. Ignore `value` if the operation reads nothing. */
  run(value: Value, input: OperationInput): Answer | Promise<Answer>
}

interface StreamedAnswer<Value> {
  /** Sends all records except the last one, which it returns. */
  stream(value: Value, input: StreamingInput): Promise<StreamingEnd>
}

/** An operation under `/v1`. It answers with one record or with a stream of records. */
export type ApiOperation<Value = unknown> = Route & {
  /** The schema of the JSON body of a `post`. For a `get` or a streaming operation, the schema of the query. */
  readonly reads?: z.ZodType<Value>
} & (OneAnswer<Value> | StreamedAnswer<Value>)

/** Returns its argument. The compiler checks that `run` or `stream` takes the value that `reads` produces. */
export function operation<Value>(checked: ApiOperation<Value>): ApiOperation {
  return checked
}

/** Makes the route of an operation that only reads. */
export function get(path: string, answer: AnswerName, summary: string): Route {
  return { method: 'get', path, answer, summary }
}

/** Makes the route of an operation that changes or sends something. */
export function post(path: string, answer: AnswerName, summary: string): Route {
  return { method: 'post', path, answer, summary }
}
