import { gzipSync } from 'node:zlib'
import { isJsonObject } from '../../model/index.ts'
import type { JsonStyle } from '../../webhook/index.ts'
import type { BodyRecipe, SuspectBody } from './suspect.ts'

/** Larger bodies are not compressed, because that takes too long. */
const compressedBytesMax = 64 * 1024
const compressionLevels = [6, 9, 1]
/** Values of the byte that names the operating system in gzip: Unix, unknown, macOS, Windows, FAT. */
const gzipSystems = [3, 255, 19, 10, 0]
const gzipSystemOffset = 9

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

const rawFix = 'Sign the bytes that are sent, and verify the bytes that arrive.'

const lineBreaks = ['\n', '\r\n'].map((text) => Buffer.from(text))

/** Characters that Python escapes: all but printable ASCII. Line breaks stay, because indented JSON contains them. */
const beyondAscii = /[^\n -~]/g
/** Characters that PHP escapes. Unlike Python, it does not escape DEL. */
const beyondSevenBits = /[\u0080-\uffff]/g
const html = /[<>&\u2028\u2029]/g

const compact: JsonStyle = { comma: ',', colon: ':' }
const python: JsonStyle = { comma: ', ', colon: ': ' }
const goCompact: JsonStyle = { ...compact, escaped: html }

const jsonRecipes: readonly BodyRecipe[] = [
  reSerialised('JSON.stringify(JSON.parse(body))', ({ stringified }) =>
    stringified === undefined ? [] : [stringified],
  ),
  inStyle('the same JSON without white space', compact),
  inStyle("the output of Python's json.dumps", python, { ...python, escaped: beyondAscii }),
  inStyle("the output of Python's json.dumps with compact separators", {
    ...compact,
    escaped: beyondAscii,
  }),
  ...[2, 4].map((indent) =>
    inStyle(
      `the same JSON indented by ${indent} spaces`,
      { ...python, indent },
      { ...python, indent, escaped: beyondAscii },
    ),
  ),
  inStyle(
    "the output of PHP's json_encode",
    { ...compact, slashes: true, escaped: beyondSevenBits },
    { ...compact, slashes: true },
  ),
  reSerialised("the output of Go's encoding/json", (body) =>
    [...body.rewritten(goCompact), ...body.sorted(goCompact)].flatMap((json) => [
      json,
      `${json}\n`,
    ]),
  ),
  reSerialised('the same JSON with its keys sorted', (body) => [
    ...body.sorted(compact),
    ...body.sorted({ ...python, escaped: beyondAscii }),
  ]),
]

function inStyle(matching: string, ...styles: readonly JsonStyle[]): BodyRecipe {
  return reSerialised(matching, (body) => styles.flatMap((style) => body.rewritten(style)))
}

function reSerialised(
  matching: string,
  write: (body: SuspectBody) => readonly string[],
): BodyRecipe {
  return {
    code: 're_serialised',
    finding: `The body was re-serialised: the signature matches ${matching}`,
    fix: 'Sign the bytes that are sent, and verify the bytes that arrive before anything parses them.',
    bodies: ({ body }) => write(body).map((text) => Buffer.from(text)),
  }
}

/** The mistakes with the body. Likely ones, and those that are cheap to check, come first. */
export const bodyRecipes: readonly BodyRecipe[] = [
  {
    code: 'newline_added',
    finding: 'A line break was added to the body: the signature matches the body without it',
    fix: `${rawFix} Remove the line break: echo and editors add one.`,
    bodies: ({ body: { bytes } }) =>
      lineBreaks
        .filter((lineBreak) => bytes.subarray(-lineBreak.length).equals(lineBreak))
        .map((lineBreak) => bytes.subarray(0, -lineBreak.length)),
  },
  {
    code: 'newline_lost',
    finding:
      'A line break at the end of the body was lost: the signature matches the body that still has it',
    fix: `${rawFix} With curl, use --data-binary, because -d removes line breaks.`,
    bodies: ({ body: { bytes } }) =>
      lineBreaks.map((lineBreak) => Buffer.concat([bytes, lineBreak])),
  },
  {
    code: 'line_ends',
    finding: 'The line endings of the body changed between LF and CRLF',
    fix: `${rawFix} Send files as bytes: editors and git change line endings on Windows.`,
    bodies: ({ body: { text } }) => {
      if (text?.includes('\n') !== true) return []
      const lineFeeds = text.replaceAll('\r\n', '\n')
      return [lineFeeds, lineFeeds.replaceAll('\n', '\r\n')].map((each) => Buffer.from(each))
    },
  },
  {
    code: 'empty_body',
    finding: 'An empty body was signed: something had already read the body',
    fix: 'Read the body once, keep its bytes, and use them for the signature.',
    bodies: () => [Buffer.alloc(0)],
  },
  {
    code: 'object_body',
    finding: 'The text "[object Object]" was signed instead of the body',
    fix: 'Sign the text that is sent, such as the result of JSON.stringify, not the object.',
    bodies: () => [Buffer.from('[object Object]')],
  },
  ...jsonRecipes,
  {
    code: 'first_event_only',
    finding: 'Only the first event of the batch was signed',
    fix: 'Sign the whole body.',
    bodies: ({ body: { value } }) => {
      const events = isJsonObject(value) ? value['batch'] : value
      if (!Array.isArray(events) || events[0] === undefined) return []
      return [Buffer.from(JSON.stringify(events[0]))]
    },
  },
  inCharset('the body in Latin-1', ({ text = '' }) => Buffer.from(text, 'latin1')),
  inCharset('the body read as Latin-1 and written as UTF-8', ({ bytes, isRewritable }) =>
    isRewritable ? Buffer.from(bytes.toString('latin1')) : undefined,
  ),
  inCharset('the body with a byte order mark added or removed', ({ bytes }) =>
    toggleByteOrderMark(bytes),
  ),
  {
    code: 'inflated',
    finding:
      'The body was decompressed before it was verified: the signature matches the compressed body',
    fix: 'Verify the bytes that arrive, before anything decompresses them.',
    bodies: ({ body: { bytes }, headers }) => {
      const isPossible = headers === undefined || headers['content-encoding'] !== undefined
      if (!isPossible || bytes.length > compressedBytesMax) return []
      const written = compressionLevels.map((level) => gzipSync(bytes, { level }))
      return written.flatMap((gzip) =>
        gzipSystems.map((system) => {
          const copy = Buffer.from(gzip)
          copy[gzipSystemOffset] = system
          return copy
        }),
      )
    },
  },
]

function inCharset(
  matching: string,
  encode: (body: SuspectBody) => Buffer | undefined,
): BodyRecipe {
  return {
    code: 'charset',
    finding: `The body was encoded in a different charset: the signature matches ${matching}`,
    fix: 'Use the raw bytes of the body on both sides, without decoding and encoding them again.',
    bodies: ({ body }) => {
      const bytes = encode(body)
      return bytes === undefined ? [] : [bytes]
    },
  }
}

function toggleByteOrderMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, 3).equals(byteOrderMark)
    ? bytes.subarray(3)
    : Buffer.concat([byteOrderMark, bytes])
}
