import { limits, SettingError, type JsonObject } from '../../model/index.ts'
import { timeoutSignal } from '../../runtime/index.ts'
import { NotFoundError } from '../api-exchange.ts'
import { delayInWords, isFault, parseDelay, type GivenAnswer } from '../faults/index.ts'
import { keptEvent } from './reads.ts'
import type { Inspected } from './inspected.ts'
import {
  readEdit,
  readRequest,
  repeated,
  sendRequest,
  type OutgoingRequest,
} from './send-request.ts'

/** The parts of a receiver, and whether the action was requested from this machine. */
export interface ActionContext extends Inspected {
  /** True for a direct request from this machine with a loopback Host and no foreign Origin. */
  readonly isLocal: boolean
}

/** Performs an action, and returns the outcome. Throws a NotFoundError if the request or expectation does not exist. */
export type Action = (body: JsonObject, context: ActionContext) => object | Promise<object>

/** The actions of the API, by name. */
export const actions = {
  resend: ({ seq, edit }, inspected) => {
    const event = keptEvent(seq, inspected)
    return sendTo(event.endpoint ?? 1, repeated(event, readEdit(edit)), inspected)
  },
  send: ({ request, endpoint = 1 }, inspected) => {
    const isNumber = typeof endpoint === 'number' && Number.isSafeInteger(endpoint)
    if (isNumber) return sendTo(endpoint, readRequest(request), inspected)
    throw new SettingError(
      'endpoint',
      'Cannot use "endpoint": it must be a number, counting from 1',
    )
  },
  'next-answer': ({ answer, delay }, inspected) => {
    const answers = answersOf(inspected)
    if (answer === null) answers.dropNext()
    else answers.respondNext({ answer: readAnswer(answer), delayMs: readDelay(delay) })
    return { answer }
  },
  plan: ({ plan }, inspected) => {
    const answers = answersOf(inspected)
    answers.respond(readPlan(plan))
    return answers.planned()
  },
  expect: ({ expect }, { expectations }) => {
    if (typeof expect !== 'string')
      throw new SettingError('expect', 'Cannot use "expect": it must be text')
    return { id: expectations.watch(expect) }
  },
  forget: ({ id }, { expectations }) => {
    if (typeof id === 'number' && expectations.forget(id)) return { id }
    throw new NotFoundError('There is no expectation with this id')
  },
} satisfies Readonly<Record<string, Action>>

/** The outcomes of actions, by name. */
export type ActionOutcomes = {
  readonly [Name in keyof typeof actions]: Awaited<ReturnType<(typeof actions)[Name]>>
}

function answersOf({ answers }: Inspected): NonNullable<Inspected['answers']> {
  if (answers !== undefined) return answers
  throw new SettingError('answer', 'Cannot plan an answer: a capture receives no webhooks')
}

function readAnswer(answer: unknown): GivenAnswer {
  if (typeof answer === 'number' || isFault(answer)) return answer
  throw new SettingError('answer', 'Cannot use "answer": it must be a status or a fault')
}

function readDelay(delay: unknown): number | undefined {
  if (delay === undefined) return undefined
  const delayMs = typeof delay === 'string' ? parseDelay(delay) : undefined
  if (delayMs !== undefined) return delayMs
  throw new SettingError('delay', `Cannot use "delay": it must be ${delayInWords}`)
}

function readPlan(plan: unknown): string | readonly string[] {
  const isText = (value: unknown): value is string => typeof value === 'string'
  if (isText(plan) || (Array.isArray(plan) && plan.every(isText))) return plan
  throw new SettingError(
    'plan',
    'Cannot use "plan": it must be a string such as "503x3,200", or a list of strings',
  )
}

/** To find a sent request, at most this many newly received requests are searched. */
const receivedMeanwhileMax = 1_000

/**
 * Sends a request. Returns its answer, with the number and signature of the event that it became. Both are null if this
 * receiver did not get it.
 */
async function sendTo(
  endpoint: number,
  outgoing: OutgoingRequest,
  { urls, secret, waits, log, isLocal }: ActionContext,
) {
  const isElsewhere = outgoing.url !== undefined
  // Don't let other machines reach servers through this one.
  if (isElsewhere && !isLocal) {
    const message =
      'Cannot send to another server: this page is not open on the machine that runs the receiver'
    throw new SettingError('url', message, 'Open the page on the machine that runs the receiver.')
  }
  const all = await urls()
  const url = outgoing.url ?? all[endpoint - 1] ?? all[0]
  if (url === undefined) {
    throw new SettingError(
      'seq',
      'Cannot resend a request: evroute view was started without --to',
      'Start it again with --to <url>.',
    )
  }
  // Use real time, like other requests to endpoints.
  const signal = AbortSignal.any([timeoutSignal(limits.endpointDeadlineMs), waits.over])
  const { received } = log.counts
  const sent = await sendRequest(outgoing, { url, secret, signal })
  const { path, body } = outgoing
  const arrived = isElsewhere ? [] : log.after(received, receivedMeanwhileMax)
  const got = arrived.find((event) => event.path === path && event.rawBody.equals(body))
  return { ...sent, seq: got?.seq ?? null, signature: got?.signature ?? null }
}
