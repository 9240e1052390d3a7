import type { Answer, Refusal } from './answer.ts'

interface RequestInput {
  readonly query: unknown
  /** The named parts of the path. */
  readonly params: Readonly<Record<string, string | string[]>>
  /** Aborts when the client has left. */
  readonly signal: AbortSignal
}

/** Input of an operation. */
export interface OperationInput extends RequestInput {
  /** The parsed body; undefined for none. */
  readonly body: unknown
}

/** Answers one kind of request. */
export type Operation = (input: OperationInput) => Promise<Answer>

/** A record as `--json` prints it, without its version. */
export type ApiRecord = Readonly<Record<string, unknown>>

/** Input of an operation that reads the body and sends records while it works. */
export interface StreamingInput extends RequestInput {
  /** The body, read no faster than the client reads the answer. Throws UploadError if it is incomplete. */
  readonly upload: AsyncIterable<Uint8Array>
  /** Sends records at once. The first one starts the answer with the status 200. */
  readonly sendRecords: (records: readonly ApiRecord[]) => void
  /** Resolves once the client has read the sent records or has left. Await it before sending more. */
  readonly drained: () => Promise<void>
}

/** The end of a streaming operation: its last record, or a refusal. */
export type StreamingEnd =
  | { readonly kind: 'sent'; readonly record: ApiRecord }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

/** Answers one kind of request with a stream of records. */
export type StreamingOperation = (input: StreamingInput) => Promise<StreamingEnd>

/** An operation under `/v1`, with its path and method. */
export type ApiOperation =
  | { readonly path: string; readonly method: 'get'; readonly operation: Operation }
  | {
      readonly path: string
      readonly method: 'post'
      readonly operation: Operation
      readonly bodyBytesMax?: number
    }
  | { readonly path: string; readonly method: 'post'; readonly streaming: StreamingOperation }
