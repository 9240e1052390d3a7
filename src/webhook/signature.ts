import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { SettingError } from '../model/index.ts'

/**
 * Returns the `X-Signature` of a body by the specification: its HMAC-SHA1 as 40 lower-case hexadecimal digits, keyed
 * with the UTF-8 bytes of the shared secret.
 */
export function signBody(body: string | Uint8Array, secret: string): string {
  return createHmac('sha1', secret).update(body).digest('hex')
}

/** The block size of SHA-1, to which HMAC pads its key. */
const blockBytes = 64
/** Maximum length of a body that fits into the scratch buffer. Longer bodies go to {@link signBody}. */
const scratchLengthMax = 16 * 1024
/** Holds a padded key and a body while they are hashed. All signers share it. */
const scratch = Buffer.allocUnsafeSlow(blockBytes + 3 * scratchLengthMax)

/**
 * Signs bodies with one secret in half the time of {@link signBody}. Pads the key only once. Computes each of the two
 * hashes of HMAC in a single call, because the stream in an `Hmac` costs more than hashing.
 */
export class BodySigner {
  readonly #secret: string
  readonly #inner: Buffer
  /** The padded key, with room for the inner hash. */
  readonly #outer = Buffer.alloc(blockBytes + 20, 0x5c)

  constructor(secret: string) {
    this.#secret = secret
    const bytes = Buffer.from(secret)
    const key = Buffer.alloc(blockBytes)
    if (bytes.length > blockBytes) key.write(hash('sha1', bytes), 'hex')
    else bytes.copy(key)
    this.#inner = Buffer.from(key.map((byte) => byte ^ 0x36))
    this.#outer.set(key.map((byte) => byte ^ 0x5c))
  }

  /** Returns the value of `X-Signature`. */
  sign(body: string): string {
    if (body.length > scratchLengthMax) return signBody(body, this.#secret)
    scratch.set(this.#inner)
    const end = blockBytes + scratch.write(body, blockBytes)
    // Hash to a binary string: hashing to a Buffer takes three times as long.
    this.#outer.write(hash('sha1', scratch.subarray(0, end), 'binary'), blockBytes, 'binary')
    return hash('sha1', this.#outer)
  }
}

/** `missing`: no header. `malformed`: not 40 lower-case hexadecimal digits. `mismatch`: different bytes or secret. */
export type SignatureCheck = 'valid' | 'missing' | 'malformed' | 'mismatch'

/** Checks the signature of a body. Compares it in constant time. */
export function checkSignature(
  rawBody: string | Uint8Array,
  header: string | undefined,
  secret: string,
): SignatureCheck {
  if (header === undefined || header === '') return 'missing'
  if (!/^[0-9a-f]{40}$/.test(header)) return 'malformed'
  const expected = Buffer.from(signBody(rawBody, secret), 'hex')
  return timingSafeEqual(Buffer.from(header, 'hex'), expected) ? 'valid' : 'mismatch'
}

/**
 * Checks whether a webhook was signed with the shared secret.
 *
 * @param rawBody - the bytes as they arrived, before any parsing
 * @param header - the value of `X-Signature`; a list is valid only if it holds exactly one value
 * @throws SettingError for a parsed body, or a missing or empty secret; never because of the header
 */
export function verifySignature(
  rawBody: string | Uint8Array,
  header: string | readonly string[] | null | undefined,
  secret: string,
): boolean {
  expectRawBody(rawBody)
  expectSecret(secret)
  const values = typeof header === 'string' ? [header] : (header ?? [])
  return values.length === 1 && checkSignature(rawBody, values[0], secret) === 'valid'
}

/** Guards against untyped callers, which often pass the parsed body of their framework. */
function expectRawBody(rawBody: unknown): void {
  if (typeof rawBody === 'string' || rawBody instanceof Uint8Array) return
  throw new SettingError(
    'rawBody',
    'Cannot verify a signature without the bytes that arrived: the body has already been parsed',
    'Keep the raw body, for example with express.raw({ type: () => true }) or await request.text().',
  )
}

function expectSecret(secret: unknown): void {
  if (typeof secret === 'string' && secret !== '') return
  throw new SettingError(
    'secret',
    'Cannot verify a signature without the shared secret',
    'Pass the secret of the destination; check that its environment variable is set.',
  )
}
