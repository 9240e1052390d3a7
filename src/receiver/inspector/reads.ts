import { conditionText, matchOf, MatchError, parseMatch } from '../../match/index.ts'
import {
  eventTypes,
  formatTimestamp,
  sampleCall,
  SettingError,
  type AnalyticsEvent,
  type EventType,
} from '../../model/index.ts'
import { buildWebhookBody } from '../../webhook/index.ts'
import { parsedJson, readQuery } from '../api-exchange.ts'
import { snippets } from '../diagnosis/index.ts'
import { eventRecord } from '../event-record.ts'
import type { ReceivedEvent } from '../received-event.ts'
import type { Inspected } from './inspected.ts'
import { compareEvents, payloadChanges } from './payload-changes.ts'

/** Answers a read. Returns undefined if the request does not exist. */
export type Read = (query: URLSearchParams, inspected: Inspected) => object | undefined

/** The reads of the API, by path. */
export const reads: Readonly<Record<string, Read>> = {
  event: (query, inspected) =>
    ofEvent(query, inspected, (event) => ({ v: 1, ...eventRecord(event) })),
  changes: (query, inspected) => {
    const { seq, with: other } = readQuery(query, ['seq', 'with'])
    const event = keptEvent(Number(seq), inspected)
    if (event === undefined) return undefined
    if (other === undefined) return payloadChanges(event, inspected.log)
    const compared = keptEvent(Number(other), inspected)
    return compared === undefined ? undefined : compareEvents(event, compared)
  },
  expectation: (query, inspected) =>
    ofEvent(query, inspected, (event) => ({ text: expectationOf(event) })),
  condition: (query) => readCondition(readQuery(query, ['keys', 'value'])),
  match: (query) => readMatch(readQuery(query, ['text']).text ?? ''),
  expectations: (_query, { expectations }) => ({ expectations: expectations.shown }),
  plan: (_query, { answers }) => answers?.planned(),
  samples: (_query, { clock }) => ({ samples: samplesAt(clock.nowMs()) }),
  snippets: () => ({ snippets }),
}

/** Returns the event with a number; undefined if it is not kept, or if the value is not a number. */
export function keptEvent(seq: unknown, { log }: Inspected): ReceivedEvent | undefined {
  if (typeof seq !== 'number' || !Number.isSafeInteger(seq)) return undefined
  const [event] = log.after(seq - 1, 1)
  return event?.seq === seq ? event : undefined
}

function ofEvent(
  query: URLSearchParams,
  inspected: Inspected,
  answer: (event: ReceivedEvent) => object,
): object | undefined {
  const event = keptEvent(Number(readQuery(query, ['seq']).seq), inspected)
  return event === undefined ? undefined : answer(event)
}

/** Makes the match condition for a value of a payload. `keys` and `value` are JSON. */
function readCondition({
  keys = '',
  value = '',
}: Partial<Record<'keys' | 'value', string>>): object {
  const path = parsedJson(keys)
  const isPath = Array.isArray(path) && path.every((key) => typeof key === 'string')
  if (!isPath) throw new SettingError('keys', 'Cannot use "keys": it must be a JSON array of names')
  return { text: conditionText(path, parsedJson(value)) }
}

function readMatch(text: string): object {
  try {
    return { valid: true, text: parseMatch(text).text }
  } catch (error) {
    if (!(error instanceof MatchError)) throw error
    const { message, hint = '', offset, length, excerpt } = error
    return { valid: false, message, hint, offset, length, excerpt }
  }
}

/** Makes an expectation that an event would meet, from its type and its name, group or user. */
function expectationOf({ type, body }: ReceivedEvent): string {
  if (type === null) return ''
  const name = ['event', 'name', 'groupId', 'userId'].find((key) => typeof body[key] === 'string')
  return matchOf({ type, ...(name === undefined ? {} : { [name]: body[name] }) }).text
}

function samplesAt(nowMs: number): Readonly<Record<EventType, string>> {
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
  ) as Record<EventType, string>
}
