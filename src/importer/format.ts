import {
  lineFeed,
  mayBecomeMark,
  openBrace,
  openBracket,
  skipBlank,
  trimBlank,
} from './json-bytes.ts'
import { Nesting, StructureScanner } from './structure.ts'

/**
 * What comes next in a text.
 *
 * - `lines`: NDJSON to the end of the text
 * - `document`: one array, one batch document, or one object that does not have a line to itself
 * - `line`: one line that does not begin with `[` or `{`
 */
export type Format = 'lines' | 'document' | 'line'

/** Detects the format, ignoring leading blanks; undefined if more text is needed and `isWhole` is false. */
export function detectFormat(text: Buffer, isWhole: boolean): Format | undefined {
  const first = firstByte(text, isWhole)
  if (first === undefined) return undefined
  if (first === openBracket) return 'document'
  return first === openBrace ? objectFormat(text, isWhole) : 'line'
}

function objectFormat(text: Buffer, isWhole: boolean): Format | undefined {
  const lineEnd = text.indexOf(lineFeed)
  const isLineKnown = lineEnd !== -1 || isWhole
  const line = lineEnd === -1 ? text : text.subarray(0, lineEnd)
  const object = scanObject(line)
  switch (object.kind) {
    case 'batch':
      return 'document'
    case 'closed':
      return afterObject(line.subarray(object.end), isLineKnown)
    case 'open':
      return isLineKnown ? afterOpenLine(line, text.subarray(line.length), isWhole) : undefined
    case 'broken':
      return isLineKnown ? 'lines' : undefined
  }
}

/** Detects the format after an object. In NDJSON, nothing follows an object on its line. */
function afterObject(rest: Buffer, isLineKnown: boolean): Format | undefined {
  const next = firstByte(rest, isLineKnown)
  if (next === undefined) return undefined
  return next === openBrace || next === openBracket ? 'document' : 'lines'
}

/** Detects the format after a line with an unclosed object: the object continues on the next line, or is broken. */
function afterOpenLine(line: Buffer, rest: Buffer, isWhole: boolean): Format | undefined {
  if (trimBlank(line).at(-1) === openBracket) return 'document'
  const next = firstByte(rest, isWhole)
  if (next === undefined) return undefined
  return next === openBrace || next === 'none' ? 'lines' : 'document'
}

/** Returns the first non-blank byte; undefined if more text is needed. */
function firstByte(text: Buffer, isWhole: boolean): number | 'none' | undefined {
  const rest = text.subarray(skipBlank(text))
  if (!isWhole && mayBecomeMark(rest)) return undefined
  return rest[0] ?? 'none'
}

/** Whether the text ends with the key `"batch"` and its colon. */
export function endsWithBatchKey(text: Buffer): boolean {
  return /(?<!\\)"batch"\s*:\s*$/.test(text.toString('latin1', Math.max(0, text.length - 64)))
}

/** `broken`: a string in the object does not end on its line. */
type ObjectScan =
  { readonly kind: 'batch' | 'open' | 'broken' } | { readonly kind: 'closed'; readonly end: number }

function scanObject(line: Buffer): ObjectScan {
  const scanner = new StructureScanner(1)
  const nesting = new Nesting()
  for (let at = scanner.next(line, 0); at < line.length; at = scanner.next(line, at + 1)) {
    const byte = line[at] ?? 0
    nesting.read(byte)
    if (nesting.depth === 0) return { kind: 'closed', end: at + 1 }
    const isList = byte === openBracket && nesting.depth === 1
    if (isList && endsWithBatchKey(line.subarray(0, at))) return { kind: 'batch' }
  }
  return { kind: scanner.inString ? 'broken' : 'open' }
}
