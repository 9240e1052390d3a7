import type { IncomingMessage } from 'node:http'
import { isArriving, readBody } from '../http/index.ts'
import { parseJson } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'
import { refuse, type Answer, type Refusal } from './answer.ts'

const usualBytesMax = 64 * 1024

type DocumentReading =
  /** A JSON object or array; undefined for an empty body. */
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly answer: Answer }
  | { readonly kind: 'cut_off' }

/** Reads the body of a request as JSON, whatever its content type. */
export async function readDocument(
  request: IncomingMessage,
  {
    clock,
    bytesMax = usualBytesMax,
  }: { readonly clock: Clock; readonly bytesMax?: number | undefined },
): Promise<DocumentReading> {
  const body = await readBody(request, { bytesMax, clock })
  // Close the connection, or the rest of an incomplete body would be read as the next request.
  const headers: Refusal['headers'] = isArriving(body) ? { connection: 'close' } : {}
  switch (body.kind) {
    case 'complete':
      return parse(body.bytes, request.headers['content-encoding'])
    case 'too_large': {
      const message = `The body is larger than ${bytesMax} bytes`
      return refused({ status: 413, code: 'body_too_large', message, headers })
    }
    case 'too_slow': {
      const message = 'The body did not arrive in time'
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
  const value = parseJson(new TextDecoder().decode(bytes))
  if (typeof value === 'object' && value !== null) return { kind: 'read', value }
  return refused({ status: 400, code: 'invalid_json', message: 'The body is not a JSON object' })
}

function refused(refusal: Refusal): DocumentReading {
  return { kind: 'refused', answer: refuse(refusal) }
}
