import { conditionText, matchOf, MatchError, parseMatch } from '../../match/index.ts'
import {
  eventTypes,
  formatTimestamp,
  parseJson,
  sampleCall,
  SettingError,
  type AnalyticsEvent,
  type JsonValue,
} from '../../model/index.ts'
import { buildWebhookBody } from '../../webhook/index.ts'
import { NotFoundError, readQuery } from '../api-exchange.ts'
import { snippets } from '../diagnosis/index.ts'
import { eventRecord } from '../event-record.ts'
import type { ReceivedEvent } from '../received-event.ts'
import type { Inspected } from './inspected.ts'
import { compareEvents, payloadChanges } from './payload-changes.ts'

/** Answers a read. Throws a NotFoundError if the receiver does not have what is asked for. */
export type Read = (query: URLSearchParams, inspected: Inspected) => object

/** The reads of the API, by path. */
export const reads = {
  event: (query, inspected) => ({
    v: 1,
    ...eventRecord(keptEvent(readQuery(query, ['seq']).seq, inspected)),
  }),
  changes: (query, inspected) => {
    const { seq, with: other } = readQuery(query, ['seq', 'with'])
    const event = keptEvent(seq, inspected)
    return other === undefined
      ? payloadChanges(event, inspected.log)
      : compareEvents(event, keptEvent(other, inspected))
  },
  expectation: (query, inspected) => ({
    text: expectationOf(keptEvent(readQuery(query, ['seq']).seq, inspected)),
  }),
  condition: (query) => readCondition(readQuery(query, ['keys', 'value'])),
  match: (query) => readMatch(readQuery(query, ['text']).text ?? ''),
  expectations: (_query, { expectations }) => ({ expectations: expectations.shown }),
  plan: (_query, { answers }) => {
    if (answers !== undefined) return answers.planned()
    throw new NotFoundError('A capture receives no webhooks, and gives no answers')
  },
  samples: (_query, { clock }) => ({ samples: samplesAt(clock.nowMs()) }),
  snippets: (): { readonly snippets: Readonly<Record<string, string>> } => ({ snippets }),
} satisfies Readonly<Record<string, Read>>

/** The answers to reads, by path. */
export type ReadAnswers = {
  readonly [Path in keyof typeof reads]: ReturnType<(typeof reads)[Path]>
}

/** Returns the event with a number. Throws a NotFoundError if it is not kept. */
export function keptEvent(seq: unknown, { log }: Inspected): ReceivedEvent {
  const event = log.get(Number(String(seq)))
  if (event !== undefined) return event
  throw new NotFoundError('The receiver no longer has this request')
}

/** Makes the match condition for a value of a payload. `keys` and `value` are JSON. */
function readCondition({ keys = '', value = '' }: Partial<Record<'keys' | 'value', string>>) {
  const path = parseJson(keys)
  const isPath = Array.isArray(path) && path.every((key) => typeof key === 'string')
  if (!isPath) throw new SettingError('keys', 'Cannot use "keys": it must be a JSON array of names')
  return { text: conditionText(path, parseJson(value) as JsonValue | undefined) }
}

function readMatch(text: string) {
  try {
    return { valid: true as const, text: parseMatch(text).text }
  } catch (error) {
    if (!(error instanceof MatchError)) throw error
    const { message, hint = '', offset, length, excerpt } = error
    return { valid: false as const, message, hint, offset, length, excerpt }
  }
}

/** Makes an expectation that an event would meet, from its type and its name, group or user. */
function expectationOf({ type, body }: ReceivedEvent): string {
  if (type === null) return ''
  const name = ['event', 'name', 'groupId', 'userId'].find((key) => typeof body[key] === 'string')
  return matchOf({ type, ...(name === undefined ? {} : { [name]: body[name] }) }).text
}

function samplesAt(nowMs: number): Readonly<Record<string, string>> {
  const event = {
    messageId: `sample-${nowMs.toString(36)}`,
    timestamp: formatTimestamp(nowMs),
    context: {},
  }
  return Object.fromEntries(
    eventTypes.map((type) => [
      type,
      buildWebhookBody({ ...event, ...sampleCall(type) } as unknown as AnalyticsEvent, 'spec'),
    ]),
  )
}
