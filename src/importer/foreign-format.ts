import { EvrouteError } from '../model/index.ts'
import { openBrace, openBracket, skipBlank } from './json-bytes.ts'

const binaryHint =
  'Calls must be UTF-8 text: NDJSON, a JSON array or {"batch": []}, gzipped or not.'
const utf16 = ['text in UTF-16', 'Convert it first: iconv -f UTF-16 -t UTF-8 <file>'] as const
const signatures: readonly (readonly [bytes: Buffer, name: string, hint: string])[] = [
  [Buffer.from('PK\x03\x04'), 'a zip archive', 'Unpack it first, as in: unzip -p <file> | ... -'],
  [Buffer.of(0x28, 0xb5, 0x2f, 0xfd), 'compressed by zstd', 'Unpack it first: zstd -dc <file>'],
  [Buffer.from('BZh'), 'compressed by bzip2', 'Unpack it first: bzip2 -dc <file>'],
  [Buffer.of(0xfd, 0x37, 0x7a, 0x58, 0x5a), 'compressed by xz', 'Unpack it first: xz -dc <file>'],
  [Buffer.of(0xff, 0xfe), ...utf16],
  [Buffer.of(0xfe, 0xff), ...utf16],
]

/** Number of bytes that are searched for a NUL. */
const headBytes = 4_096
/** A tar archive contains this text at this offset. */
const [tarMarkAt, tarMark] = [257, 'ustar']

/** Whether the text is long enough for {@link refuseForeign}. JSON needs only two bytes, so its rows don't wait. */
export function showsFormat(text: Buffer): boolean {
  return text.length >= tarMarkAt + tarMark.length || (text.length > 1 && beginsLikeJson(text))
}

/** Throws `cannot_read_file` if the first bytes of an input show that it is not text in UTF-8. */
export function refuseForeign(text: Buffer): void {
  const known = signatures.find(([bytes]) => text.subarray(0, bytes.length).equals(bytes))
  if (known !== undefined) throw unreadable(known[1], known[2])
  if (text[0] !== 0 && text[1] === 0) throw unreadable(...utf16)
  // In JSON, a NUL only makes its row invalid.
  if (beginsLikeJson(text)) return
  if (text.indexOf(tarMark, tarMarkAt) === tarMarkAt) {
    throw unreadable('a tar archive', 'Unpack it first, for example with: tar -xf <file>')
  }
  if (text.subarray(0, headBytes).includes(0)) throw unreadable('binary', binaryHint)
}

function beginsLikeJson(text: Buffer): boolean {
  const first = text[skipBlank(text)]
  return first === openBrace || first === openBracket
}

/** A quoted cell, or words. If two parts could match the same spaces, matching would take exponential time. */
const csvCell = String.raw` *(?:"[^"]*"|[\p{L}_$][\p{L}\p{N}_$.:-]*(?: +[\p{L}\p{N}_$.:-]+)*) *`
const csvHeader = new RegExp(`^${csvCell}(?:[,;\t]${csvCell})+$`, 'u')

/** Throws `cannot_read_file` for a first line that looks like a CSV header: calls cannot be read from CSV. */
export function refuseCsv(line: string): void {
  if (!csvHeader.test(line.trim())) return
  throw unreadable('CSV', 'Write each row as a JSON object.')
}

function unreadable(what: string, hint: string): ForeignFormatError {
  return new ForeignFormatError('the input', what, hint)
}

/** Thrown for an input that is not text in UTF-8, or that is CSV: `code` is `cannot_read_file`. */
export class ForeignFormatError extends EvrouteError {
  readonly #what: string
  override readonly hint: string

  constructor(input: string, what: string, hint: string) {
    super({ code: 'cannot_read_file', message: `Cannot read ${input}: it is ${what}`, hint })
    this.hint = hint
    this.#what = what
  }

  /** Returns the same error, with a name such as the input's path instead of "the input". */
  about(input: string): ForeignFormatError {
    return new ForeignFormatError(input, this.#what, this.hint)
  }
}
