import type { Answer, Refusal } from './answer.ts'

/** What every operation is given of a request. */
interface RequestInput {
  /** The parameters behind the path. */
  readonly query: unknown
  /** The parts of the path that have names. */
  readonly params: Readonly<Record<string, string | string[]>>
  /** Aborts when the client has left. */
  readonly signal: AbortSignal
}

/** What an operation is given of a request. */
export interface OperationInput extends RequestInput {
  /** The body, parsed; undefined when there is none. */
  readonly body: unknown
}

/** Answers one kind of request. */
export type Operation = (input: OperationInput) => Promise<Answer>

/** A record as `--json` has it, without its version. */
export type ApiRecord = Readonly<Record<string, unknown>>

/** What an operation is given that takes and tells as much as there is, while it works. */
export interface StreamingInput extends RequestInput {
  /**
   * The body, as it arrives. It is read no faster than the answer is taken.
   *
   * @throws UploadError from the iteration, when it does not come to its end
   */
  readonly upload: AsyncIterable<Uint8Array>
  /** Tells records at once; from the first one on the request is answered with 200. */
  readonly tell: (records: readonly ApiRecord[]) => void
  /** Resolves once the client has taken what was sent, or has left. Await it before you send more. */
  readonly drained: () => Promise<void>
}

/** How such an operation ends: with its last record, or with a refusal. */
export type StreamingEnd =
  | { readonly kind: 'sent'; readonly record: ApiRecord }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

/** Answers one kind of request, record by record. */
export type StreamingOperation = (input: StreamingInput) => Promise<StreamingEnd>

/** What the API can be asked under `/v1`: a path, a method, and who answers. */
export type ApiOperation =
  | { readonly path: string; readonly method: 'get'; readonly operation: Operation }
  | {
      readonly path: string
      readonly method: 'post'
      readonly operation: Operation
      /** Bytes that its body may have, where it is not as many as usual. */
      readonly bodyBytesMax?: number
    }
  | { readonly path: string; readonly method: 'post'; readonly streaming: StreamingOperation }
