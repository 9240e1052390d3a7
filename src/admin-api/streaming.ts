import type { ServerResponse } from 'node:http'
import type { Request, Response } from 'express'
import { closeOf } from '../http/index.ts'
import { EvrouteError } from '../model/index.ts'
import type { Log, Runtime } from '../runtime/index.ts'
import { isStoreError, refusalOfFailure, refuse, send, type Refusal } from './answer.ts'
import { LineAnswer } from './line-answer.ts'
import type { ApiRecord, StreamingEnd, StreamingInput } from './operation.ts'
import { Upload, UploadError } from './upload.ts'

/** The accepted values of Content-Encoding. The first bytes of a body, not the header, show whether it is gzip. */
const encodings = ['identity', 'gzip', 'x-gzip']

interface StreamingParts extends Pick<Runtime, 'clock' | 'log'> {
  readonly work: (input: StreamingInput) => Promise<StreamingEnd>
  /** Called at the end of an action, with its last record or its failure. */
  readonly done: (record: ApiRecord) => void
}

/** Answers a request record by record while its body arrives. An error after the first record ends the answer. */
export async function streamAnswer(
  request: Request,
  response: Response,
  { work, clock, log, done }: StreamingParts,
): Promise<void> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (!encodings.includes(encoding.toLowerCase())) {
    send(response, unreadableEncoding)
    return
  }
  const answer = new LineAnswer(response, clock)
  const drained = (): Promise<void> => answer.drained()
  const sendRecords: LineAnswer['sendRecords'] = (records) => answer.sendRecords(records)
  const upload = new Upload(request, { clock, drained })
  const signal = closeOf(response)
  try {
    const end = await work({ params: request.params, upload, sendRecords, drained, signal })
    if ('error' in end) refuseOrEnd(end, answer, response)
    else {
      done(end.record)
      answer.end(end.record)
    }
  } catch (error) {
    // Log the action, because part of it may have been done.
    done({ outcome: 'failed' })
    // The client has left, so no answer can be sent.
    if (upload.error?.code === 'cut_off' || (signal.aborted && error === signal.reason)) return
    refuseOrEnd(refusalOf(upload.error ?? error, log), answer, response)
  }
}

const unreadableEncoding = refuse(
  'unsupported_encoding',
  'The Content-Encoding of the body is not supported: it must be gzip, or left out',
)

function refuseOrEnd(refusal: Refusal, answer: LineAnswer, response: ServerResponse): void {
  if (answer.hasBegun) answer.end({ kind: 'error', ...refusal.error })
  else send(response, refusal)
}

function refusalOf(error: unknown, log: Log): Refusal {
  if (error instanceof UploadError) {
    // Close the connection, or the rest of the body would be read as the next request.
    return refuse('body_too_slow', error.message, { connection: 'close' })
  }
  if (!(error instanceof EvrouteError) || isStoreError(error)) return refusalOfFailure(error, log)
  // The message can be shown, because it describes what is wrong with the request.
  const { message, hint } = error
  const advice = hint === undefined ? '' : `. ${hint.replace(/\.$/, '')}`
  return refuse('invalid_request', message + advice)
}
