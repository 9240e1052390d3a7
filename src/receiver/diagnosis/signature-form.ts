import { shortText } from '../../model/index.ts'
import type { Mistake } from './mistake.ts'

/** A hash algorithm. It is recognised by the length of the digest. */
export type Algorithm = 'sha1' | 'sha256' | 'sha512'

/** The digest in a signature, and the mistakes in the signature's form. */
export interface SignatureForm {
  readonly digest: Buffer
  readonly algorithm: Algorithm
  readonly mistakes: readonly Mistake[]
}

/** A prefix that names a scheme: `sha1=`, `v1,`, `t=1767225600,v1=`. */
const prefixed = /^((?:t=\d{1,20},)?[a-z][\w-]{0,15}\s?[=,:]\s?)(.{20,})$/i

const algorithms: ReadonlyMap<number, Algorithm> = new Map([
  [20, 'sha1'],
  [32, 'sha256'],
  [64, 'sha512'],
])

/** Reads a signature, even in a wrong form; undefined if the form is not known. */
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

function decode(text: string): Omit<SignatureForm, 'algorithm'> | undefined {
  if (/^(?:[0-9a-f]{2})+$/i.test(text)) {
    const isLower = text === text.toLowerCase()
    const mistakes = isLower ? [] : [digitMistake('upper_case', 'upper-case hexadecimal digits')]
    return { digest: Buffer.from(text, 'hex'), mistakes }
  }
  if (/^[\w+/-]+={0,2}$/.test(text)) {
    // Without - or _, only missing padding shows that a text is base64url. Node decodes both as base64.
    const code = /[_-]/.test(text) || text.length % 4 !== 0 ? 'base64url' : 'base64'
    const mistake = digitMistake(code, `${code} instead of hexadecimal digits`)
    return { digest: Buffer.from(text, 'base64'), mistakes: [mistake] }
  }
  return undefined
}

const space: Mistake = {
  code: 'signature_space',
  finding: 'The signature has white space around it',
  fix: 'Send only the digest, without spaces or line breaks.',
}

function digitMistake(code: Mistake['code'], form: string): Mistake {
  const fix = 'Write the digest as lower-case hexadecimal digits.'
  return { code, finding: `The signature is in ${form}`, fix }
}

function prefixMistake(prefix: string): Mistake {
  const finding = `The signature begins with "${shortText(prefix)}"`
  return { code: 'prefix', finding, fix: 'Send only the digest, with nothing before it.' }
}

function algorithmMistake(code: 'sha256' | 'sha512'): Mistake {
  const finding = `The signature is an HMAC-${code.toUpperCase()} instead of an HMAC-SHA1`
  return { code, finding, fix: 'Use HMAC-SHA1.' }
}
