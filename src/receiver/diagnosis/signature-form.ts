import { shortText } from '../../model/index.ts'
import type { Mistake } from './mistake.ts'

/** A hash algorithm, which is recognised by the length of its digest. */
export type Algorithm = 'sha1' | 'sha256' | 'sha512'

/** What the form of a signature shows, before its digest is compared. */
export interface SignatureForm {
  /** The bytes of the digest. */
  readonly digest: Buffer
  /** The algorithm of the digest. */
  readonly algorithm: Algorithm
  /** The mistakes in the form; empty if there are none. */
  readonly mistakes: readonly Mistake[]
}

/** The bytes of a digest, and the mistakes in their encoding. */
interface Decoded {
  readonly digest: Buffer
  readonly mistakes: readonly Mistake[]
}

/** The name of a scheme before the digest: `sha1=`, `v1,`, `t=1767225600,v1=`. */
const prefixed = /^((?:t=\d{1,20},)?[a-z][\w-]{0,15}\s?[=,:]\s?)(.{20,})$/i

const algorithms: ReadonlyMap<number, Algorithm> = new Map([
  [20, 'sha1'],
  [32, 'sha256'],
  [64, 'sha512'],
])

const hexFix = 'Write the digest as lower-case hexadecimal digits.'

/** Reads a signature, even in a wrong form; undefined if it is not a digest in any known form. */
export function readForm(signature: string): SignatureForm | undefined {
  const trimmed = signature.trim()
  const [, prefix, rest = trimmed] = prefixed.exec(trimmed) ?? []
  const decoded = decode(rest)
  if (decoded === undefined) return undefined
  const { digest } = decoded
  const algorithm = algorithms.get(digest.length)
  if (algorithm === undefined) return undefined
  const mistakes = [
    ...(trimmed === signature ? [] : [space]),
    ...(prefix === undefined ? [] : [prefixMistake(prefix)]),
    ...(algorithm === 'sha1' ? [] : [algorithmMistake(algorithm)]),
    ...decoded.mistakes,
  ]
  return { digest, algorithm, mistakes }
}

function decode(text: string): Decoded | undefined {
  if (/^(?:[0-9a-f]{2})+$/i.test(text)) {
    const isLower = text === text.toLowerCase()
    return { digest: Buffer.from(text, 'hex'), mistakes: isLower ? [] : [upperCase] }
  }
  if (/^[\w+/-]+={0,2}$/.test(text)) {
    // Node decodes both alphabets. If no character tells them apart, missing padding means base64url.
    const isUrl = /[_-]/.test(text) || text.length % 4 !== 0
    return { digest: Buffer.from(text, 'base64'), mistakes: [isUrl ? base64url : base64] }
  }
  return undefined
}

const space: Mistake = {
  code: 'signature_space',
  finding: 'The signature has white space around it',
  fix: 'Send the digest alone, without spaces and line breaks.',
}

const upperCase: Mistake = {
  code: 'upper_case',
  finding: 'The signature is in upper-case hexadecimal digits',
  fix: hexFix,
}

const base64: Mistake = {
  code: 'base64',
  finding: 'The signature is in base64 instead of hexadecimal digits',
  fix: hexFix,
}

const base64url: Mistake = {
  code: 'base64url',
  finding: 'The signature is in base64url instead of hexadecimal digits',
  fix: hexFix,
}

function prefixMistake(prefix: string): Mistake {
  return {
    code: 'prefix',
    finding: `The signature begins with "${shortText(prefix)}"`,
    fix: 'Send the digest alone, with nothing before it.',
  }
}

function algorithmMistake(algorithm: 'sha256' | 'sha512'): Mistake {
  return {
    code: algorithm,
    finding: `The signature is an HMAC-${algorithm.toUpperCase()} instead of an HMAC-SHA1`,
    fix: 'Use HMAC-SHA1.',
  }
}
