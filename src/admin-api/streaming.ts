import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request, RequestHandler, Response } from 'express'
import { closeOf } from '../http/index.ts'
import { EvrouteError } from '../model/index.ts'
import type { Log, Runtime } from '../runtime/index.ts'
import { refuse, send, type Refusal } from './answer.ts'
import { isStoreError, refusalOfFailure } from './failure.ts'
import { LineAnswer } from './line-answer.ts'
import type { ApiRecord, StreamingOperation } from './operation.ts'
import { Upload, UploadError } from './upload.ts'

/** Encodings of a body; compressed content says so by itself. */
const encodings = ['identity', 'gzip', 'x-gzip']

/** Clock and log, and what learns of actions. */
interface StreamingParts extends Pick<Runtime, 'clock' | 'log'> {
  /** Gets the last record of an action, or how it failed. */
  readonly done: (request: Request, response: Response, record: ApiRecord) => void
}

/**
 * Answers a request record by record, while its body arrives. What is refused before anything was sent
 * gets a status of its own; after that, the last record says what went wrong.
 */
export function streamingHandler(
  operation: StreamingOperation,
  { clock, log, done }: StreamingParts,
): RequestHandler {
  return async (request, response) => {
    if (!encodings.includes(encodingOf(request))) {
      send(response, refuse(unreadableEncoding))
      return
    }
    const answer = new LineAnswer(response, clock)
    const drained = (): Promise<void> => answer.drained()
    const tell: LineAnswer['tell'] = (records) => answer.tell(records)
    const upload = new Upload(request, { clock, drained })
    const signal = closeOf(response)
    const { query, params } = request
    try {
      const end = await operation({ query, params, upload, tell, drained, signal })
      if (end.kind === 'sent') {
        done(request, response, end.record)
        answer.end(end.record)
      } else refuseOrEnd(end.refusal, answer, response)
    } catch (error) {
      // Part of it may be done.
      done(request, response, { outcome: 'failed' })
      // The client left: no one waits for an answer, and nothing failed.
      if (upload.error?.code === 'cut_off' || (signal.aborted && error === signal.reason)) return
      refuseOrEnd(refusalOf(upload.error ?? error, log), answer, response)
    }
  }
}

const unreadableEncoding: Refusal = {
  status: 415,
  code: 'unsupported_encoding',
  message: 'The body may be compressed with gzip, and with nothing else',
}

function encodingOf(request: IncomingMessage): string {
  return (request.headers['content-encoding'] ?? 'identity').toLowerCase()
}

function refuseOrEnd(refusal: Refusal, answer: LineAnswer, response: ServerResponse): void {
  const { code, message } = refusal
  if (answer.hasBegun) answer.end({ kind: 'error', code, message })
  else send(response, refuse(refusal))
}

function refusalOf(error: unknown, log: Log): Refusal {
  if (error instanceof UploadError) return slowUpload(error)
  if (!(error instanceof EvrouteError) || isStoreError(error)) return refusalOfFailure(error, log)
  // What was sent cannot be used, and the error says why.
  const { message, hint } = error
  return {
    status: 400,
    code: 'invalid_request',
    message: hint === undefined ? message : `${message}. ${hint.replace(/\.$/, '')}`,
  }
}

function slowUpload({ message }: UploadError): Refusal {
  // The rest of the body looks like a next request.
  return { status: 408, code: 'body_too_slow', message, headers: { connection: 'close' } }
}
