import type { IncomingMessage } from 'node:http'
import { isArriving, readBody } from '../http/index.ts'
import type { Clock } from '../runtime/index.ts'
import { refuse, type Answer, type Refusal } from './answer.ts'

/** Bytes that a request's body may have where its path says nothing else. */
const usualBytesMax = 64 * 1024

/** How a body is read. */
export interface DocumentLimits {
  /** Measures the deadline. */
  readonly clock: Clock
  /** Bytes that it may have; 64 KiB by default. */
  readonly bytesMax?: number | undefined
}

/** What a request carries, or why it cannot be read. */
export type DocumentReading =
  /** JSON with names or elements; undefined when there is no body. */
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly answer: Answer }
  /** The client left: no one waits for an answer. */
  | { readonly kind: 'cut_off' }

/** Reads the body of a request as JSON, whatever its type says: the path decides what a body is. */
export async function readDocument(
  request: IncomingMessage,
  { clock, bytesMax = usualBytesMax }: DocumentLimits,
): Promise<DocumentReading> {
  const body = await readBody(request, { bytesMax, clock })
  // The rest of a body that was not read to its end looks like a next request.
  const headers: Refusal['headers'] = isArriving(body) ? { connection: 'close' } : {}
  switch (body.kind) {
    case 'complete':
      return parse(body.bytes, request.headers['content-encoding'])
    case 'too_large': {
      const message = `The body has more than ${bytesMax} bytes`
      return refused({ status: 413, code: 'body_too_large', message, headers })
    }
    case 'too_slow': {
      const message = 'The body did not come in time'
      return refused({ status: 408, code: 'body_too_slow', message, headers })
    }
    case 'cut_off':
      return { kind: 'cut_off' }
  }
}

function parse(bytes: Buffer, encoding = 'identity'): DocumentReading {
  if (encoding.toLowerCase() !== 'identity') {
    const message = 'The body must not be compressed'
    return refused({ status: 415, code: 'unsupported_encoding', message })
  }
  if (bytes.length === 0) return { kind: 'read', value: undefined }
  const value = parsed(bytes)
  if (typeof value === 'object' && value !== null) return { kind: 'read', value }
  return refused({ status: 400, code: 'invalid_json', message: 'The body is not a JSON object' })
}

/** Undefined for what is no JSON. */
function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

function refused(refusal: Refusal): DocumentReading {
  return { kind: 'refused', answer: refuse(refusal) }
}
