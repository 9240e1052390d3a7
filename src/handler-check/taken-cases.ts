import { limits, type EventType, type JsonObject } from '../model/index.ts'
import { restyleBody, signBody, type BodyStyle } from '../webhook/index.ts'
import type { CaseParts, CheckCase } from './check-case.ts'
import { webhookText } from './sample-webhook.ts'

interface TakenCase {
  readonly id: string
  readonly about: string
  readonly write?: (body: string) => string
  /** Members to add to the webhook's context. The case is left out for a type without a context. */
  readonly context?: JsonObject
  /** Whether a part of the body ends after this byte; by default, the body is sent at once. */
  readonly endsPart?: (byte: number) => boolean
}

const beyondAscii = { name: 'Zoë Łuk 東京 🎉', separators: '\u2028\u2029' }
/** Numbers that most encoders change. JSON.stringify cannot write them at all. */
const numbers = '{"float":39.0,"exponent":1e3,"large":12345678901234567890}'
const numbersMark = 'numbers as other encoders write them'
const openingBrace = 0x7b
/** A character beyond ASCII begins with at least this byte in UTF-8. Its other bytes are smaller. */
const firstOfCharacterMin = 0xc0
const note = 'x'.repeat(limits.callBytesMax - 1024)

const inStyle = (style: BodyStyle) => (body: string) => restyleBody(body, style)
const prettyCrlf = (body: string): string => inStyle('pretty')(body).replaceAll('\n', '\r\n')
const withNumbers = (body: string): string => body.replace(JSON.stringify(numbersMark), numbers)

const cases: readonly TakenCase[] = [
  { id: 'plain', about: 'as evroute writes it' },
  { id: 'spaced', about: 'with spaces, as Python writes it', write: inStyle('spaced') },
  {
    id: 'escaped',
    about: 'with \\/ and \\u00e9, as PHP writes it',
    write: inStyle('escaped'),
    context: beyondAscii,
  },
  { id: 'reordered', about: 'with its keys in a different order', write: inStyle('reordered') },
  { id: 'pretty', about: 'on several lines', write: inStyle('pretty') },
  { id: 'crlf', about: 'on several lines that end in CRLF', write: prettyCrlf },
  { id: 'newline', about: 'with a line break at its end', write: (body) => `${body}\n` },
  { id: 'unicode', about: 'with characters beyond ASCII', context: beyondAscii },
  { id: 'parts', about: 'in several packets', endsPart: (byte) => byte === openingBrace },
  {
    id: 'split',
    about: 'with characters split between packets',
    context: beyondAscii,
    endsPart: (byte) => byte >= firstOfCharacterMin,
  },
  {
    id: 'numbers',
    about: 'with numbers such as 39.0 and 1e3',
    write: withNumbers,
    context: { numbers: numbersMark },
  },
  { id: 'large', about: 'of 32 KB, the largest call', context: { note } },
]

const repeated: TakenCase = { id: 'repeated', about: 'with the same bytes as one sent before' }

/** Makes the webhooks of one type that a correct handler accepts. */
export function takenCases(
  type: EventType,
  { secret, id: runId, nowMs }: CaseParts,
): readonly CheckCase[] {
  const made = (each: TakenCase, messageId: string): CheckCase => {
    const { id, about, context, write = (text: string): string => text, endsPart } = each
    const body = write(webhookText({ type, messageId, nowMs, context }))
    const parts = endsPart && { parts: splitAfter(body, endsPart) }
    const signature = signBody(body, secret)
    return { id, about, expected: 'taken', type, body, signature, ...parts }
  }
  const hasContext = type !== 'delete'
  return [
    ...cases
      .filter(({ context }) => hasContext || context === undefined)
      .map((each) => made(each, `check-${runId}-${each.id}`)),
    // Repeats the first webhook, as a sender does if the answer gets lost.
    made(repeated, `check-${runId}-plain`),
  ]
}

function splitAfter(body: string, endsPart: (byte: number) => boolean): readonly Buffer[] {
  const bytes = Buffer.from(body)
  const ends = [...bytes.keys()]
    .filter((index) => endsPart(bytes[index] ?? 0))
    .map((index) => index + 1)
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}
