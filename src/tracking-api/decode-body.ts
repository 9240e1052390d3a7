import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { Turns, type FairShare } from '../http/index.ts'
import { limits, shortText, systemCode } from '../model/index.ts'
import { systemClock } from '../runtime/index.ts'
import { refuse, type Refusal } from './answer.ts'

/** A body that is JSON. */
export interface Document {
  /** Tells it from a refusal. */
  readonly kind: 'document'
  /** The JSON, parsed. */
  readonly value: unknown
  /** Its length as text. */
  readonly bytes: number
}

/** Gzip can enlarge incompressible data; allow for that beside the limit of a batch. */
const gzipOverheadBytes = 4_096

/** Bytes that the body of a request may have as it comes over the wire. */
export const wireBytesMax: number = limits.intakeBatchBytesMax + gzipOverheadBytes

/** A few bodies are inflated at once: more would wait for the same threads, each with its room taken. */
const inflating = new Turns({ turnsMax: 4, clock: systemClock })

/** How long a client is asked to wait while bodies take all the room there is. */
const crowdedWaitMs = 5_000

const inflateGzip = promisify(gunzip)
const gzipMagic = Buffer.of(0x1f, 0x8b)

/**
 * Makes JSON of a body. Inflates it if its first bytes say gzip, never further than a batch may be long, and
 * out of the same budget as bodies. The header doesn't decide: some clients leave it out, and some proxies
 * inflate a body and keep it. Bytes that are not UTF-8 are replaced, so that one bad byte does not cost a batch.
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
    // The parser's own message repeats parts of the body.
    return refuse('invalid_json', `The body is not valid JSON${encodingHint(contentEncoding)}`)
  }
}

/** A hint from the headers about why the body may not be JSON. */
function encodingHint(contentEncoding = ''): string {
  const encoding = shortText(contentEncoding)
  return /^$|\b(?:gzip|identity)\b/i.test(encoding)
    ? ''
    : `: its Content-Encoding is ${encoding}, and only gzip is read`
}

/** Refuses a body that there is no room for. */
export function crowded(): Refusal {
  return refuse('queue_full', 'Too many requests arrive at once', crowdedWaitMs)
}

/** Refuses a batch for its size. */
export function batchTooLarge(): Refusal {
  const message = `Exceeds the payload limit: a batch may have ${limits.intakeBatchBytesMax} bytes`
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
