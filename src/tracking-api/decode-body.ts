import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { Turns, type FairShare } from '../http/index.ts'
import { limits, shortText, systemCode } from '../model/index.ts'
import { systemClock } from '../runtime/index.ts'
import { refuse, type Refusal } from './answer.ts'

/** A body that was parsed as JSON. */
export interface Document {
  readonly kind: 'document'
  readonly value: unknown
  /** Length of the JSON text, after inflating. */
  readonly bytes: number
}

/** Gzip can enlarge incompressible data slightly; this allows for that. */
const gzipOverheadBytes = 4_096

/** Maximum size of a request body on the wire. */
export const wireBytesMax: number = limits.intakeBatchBytesMax + gzipOverheadBytes

/** Limits concurrent inflating: more bodies would only occupy memory while they wait for the same threads. */
const inflating = new Turns({ turnsMax: 4, clock: systemClock })

const inflateGzip = promisify(gunzip)
const gzipMagic = Buffer.of(0x1f, 0x8b)

/**
 * Parses a body, and inflates it if it begins like gzip. Ignores Content-Encoding, because some clients omit it, and
 * some proxies inflate a body but keep the header. Replaces invalid UTF-8, so that one bad byte doesn't fail a batch.
 */
export async function decodeBody(
  wire: Buffer,
  { contentEncoding, share }: { contentEncoding: string | undefined; share: FairShare },
): Promise<Document | Refusal> {
  const isGzip = wire.subarray(0, gzipMagic.length).equals(gzipMagic)
  const bytes = isGzip ? await inflated(wire, share) : wire
  if (!Buffer.isBuffer(bytes)) return bytes
  if (bytes.length > limits.intakeBatchBytesMax) return batchTooLarge()
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8').replace(/^\u{feff}/u, ''))
    return { kind: 'document', value, bytes: bytes.length }
  } catch {
    if (!isGzip && /\bgzip\b/i.test(contentEncoding ?? '')) return invalidGzip()
    // The parser's message would repeat parts of the body.
    return refuse('invalid_json', `The body is not valid JSON${encodingHint(contentEncoding)}`)
  }
}

/** Explains that a Content-Encoding is not supported; empty if it is supported. */
function encodingHint(contentEncoding = ''): string {
  const encoding = shortText(contentEncoding)
  return /^$|\b(?:gzip|identity)\b/i.test(encoding)
    ? ''
    : `: its Content-Encoding is ${encoding}, but only gzip is supported`
}

/** Refuses a body because the memory for bodies is used up. */
export function crowded(): Refusal {
  return refuse('queue_full', 'Too many requests are arriving at once')
}

/** Refuses a batch above `limits.intakeBatchBytesMax`. */
export function batchTooLarge(): Refusal {
  const bytesMax = limits.intakeBatchBytesMax
  const message = `Exceeds the payload limit: a batch may be at most ${bytesMax} bytes`
  return refuse('batch_too_large', message)
}

function invalidGzip(): Refusal {
  return refuse('invalid_gzip', 'The body is not valid gzip')
}

async function inflated(wire: Buffer, share: FairShare): Promise<Buffer | Refusal> {
  const turn = new AbortController()
  try {
    await inflating.take(turn)
    const bytes = await inflateGzip(wire, { maxOutputLength: limits.intakeBatchBytesMax })
    return share.take(bytes.length) ? bytes : crowded()
  } catch (error) {
    if (systemCode(error) === 'ERR_BUFFER_TOO_LARGE') return batchTooLarge()
    return invalidGzip()
  } finally {
    inflating.end(turn)
  }
}
