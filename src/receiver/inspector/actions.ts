import { isJsonObject, limits, SettingError, type JsonObject } from '../../model/index.ts'
import { systemClock } from '../../runtime/index.ts'
import { isFault, type GivenAnswer } from '../faults/index.ts'
import { keptEvent } from './reads.ts'
import type { Inspected } from './inspected.ts'
import {
  readEdit,
  readRequest,
  repeated,
  sendRequest,
  type OutgoingRequest,
} from './send-request.ts'

/** Does something and answers with its outcome; undefined where the thing it is about does not exist. */
export type Action = (
  body: JsonObject,
  inspected: Inspected,
) => object | undefined | Promise<object | undefined>

/** The actions of the API, by name. */
export const actions: Readonly<Record<string, Action>> = {
  resend: async ({ seq, edit }, inspected) => {
    const event = keptEvent(seq, inspected)
    if (event === undefined) return undefined
    return sendTo(event.endpoint ?? 1, repeated(event, readEdit(edit)), inspected)
  },
  send: ({ request }, inspected) => sendTo(1, readRequest(request), inspected),
  'next-answer': ({ answer }, inspected) => {
    answersOf(inspected).respondNext(readAnswer(answer))
    return { answer }
  },
  plan: ({ plan }, inspected) => {
    const answers = answersOf(inspected)
    answers.respond(readPlan(plan))
    return answers.planned()
  },
  expect: ({ expect }, { expectations }) => {
    if (typeof expect !== 'string')
      throw new SettingError('expect', 'Cannot expect this: it is no text')
    return { id: expectations.watch(expect) }
  },
  forget: ({ id }, { expectations }) =>
    typeof id === 'number' && expectations.forget(id) ? { id } : undefined,
}

function answersOf({ answers }: Inspected): NonNullable<Inspected['answers']> {
  if (answers !== undefined) return answers
  throw new SettingError('answer', 'Cannot plan an answer: a capture receives no webhooks')
}

function readAnswer(answer: unknown): GivenAnswer {
  if (typeof answer === 'number' || isFault(answer)) return answer
  throw new SettingError('answer', 'Cannot answer with this: it is a status or a fault')
}

/** Several plans for different webhooks are a list. */
function readPlan(plan: unknown): string | readonly string[] {
  const isText = (value: unknown): value is string => typeof value === 'string'
  if (isText(plan) || (Array.isArray(plan) && plan.every(isText))) return plan
  throw new SettingError(
    'plan',
    'Cannot use plan: it is a text such as 503x3,200, or a list of them',
  )
}

async function sendTo(
  endpoint: number,
  outgoing: OutgoingRequest,
  { urls, secret, waits }: Inspected,
): Promise<object> {
  const all = await urls()
  const url = all[endpoint - 1] ?? all[0]
  if (url === undefined) {
    throw new SettingError('seq', 'Cannot resend a request of a capture', 'Pass --to <url>.')
  }
  const wait = waits.begin()
  // Real time, because other requests use it too.
  const timer = systemClock.schedule(limits.endpointDeadlineMs, () => wait.abort())
  const ended = waits.endOf(wait)
  const sent = await sendRequest(outgoing, { url, secret, signal: wait.signal })
  timer.cancel()
  wait.abort()
  await ended
  return sent
}

/** Reads the text of an action's body; undefined where it is no JSON object. */
export function parseAction(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
