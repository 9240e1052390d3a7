import type { IncomingMessage } from 'node:http'
import { isArriving, readBody } from '../http/index.ts'
import { parseJson } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'
import { refuse, type Refusal } from './answer.ts'
import type { Reading } from './read-fields.ts'

const usualBytesMax = 64 * 1024

interface DocumentLimits {
  readonly clock: Clock
  /** 64 KB by default. */
  readonly bytesMax?: number | undefined
}

/**
 * Reads a body as JSON, whatever its content type. The value is an object or array, or undefined for an empty body.
 * Returns undefined if the client has left.
 */
export async function readDocument(
  request: IncomingMessage,
  { clock, bytesMax = usualBytesMax }: DocumentLimits,
): Promise<Reading<unknown> | undefined> {
  const body = await readBody(request, { bytesMax, clock })
  // Close the connection, or the rest of an incomplete body would be read as the next request.
  const headers: Refusal['headers'] = isArriving(body) ? { connection: 'close' } : {}
  switch (body.kind) {
    case 'complete':
      return parse(body.bytes, request.headers['content-encoding'])
    case 'too_large':
      return refuse('body_too_large', `The body is larger than ${bytesMax} bytes`, headers)
    case 'too_slow':
      return refuse('body_too_slow', 'The body did not arrive in time', headers)
    case 'cut_off':
      return undefined
  }
}

function parse(bytes: Buffer, encoding = 'identity'): Reading<unknown> {
  if (encoding.toLowerCase() !== 'identity') {
    return refuse('unsupported_encoding', 'The body must not be compressed')
  }
  if (bytes.length === 0) return { value: undefined }
  const value = parseJson(new TextDecoder().decode(bytes))
  if (typeof value === 'object' && value !== null) return { value }
  return refuse('invalid_json', 'The body is not a JSON object')
}
