import { Readable } from 'node:stream'
import {
  checkOptionNames,
  checkUrl,
  checkWholeNumber,
  eventTypes,
  isEventType,
  limits,
  SettingError,
  type Destination,
  type Endpoint,
  type EventType,
} from '../model/index.ts'
import { createRuntime, sleep, type Clock, type Runtime } from '../runtime/index.ts'
import {
  checkDestination,
  webhookHeaders,
  WebhookSender,
  type RequestContent,
} from '../webhook/index.ts'
import { checkCases, type CheckCase } from './check-case.ts'
import { diagnoseHandler } from './diagnose-handler.ts'
import type { HandlerFinding } from './evidence.ts'
import { verdictOn, type CaseVerdict } from './verdict.ts'

/** The handler to check, and what to send to it. */
export interface HandlerCheckOptions {
  /** The URL of the handler, http or https. */
  readonly url: string
  /** The shared secret of the handler. */
  readonly secret: string
  /** Headers to add to every webhook. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The types that the handler accepts; all seven by default. */
  readonly types?: readonly EventType[] | undefined
  /** The ids of the cases to send; all by default. */
  readonly only?: readonly string[] | undefined
  /** How long the handler may take to answer; 5,000 ms by default, which is also the maximum. */
  readonly timeoutMs?: number | undefined
  /** Ends the check early. */
  readonly signal?: AbortSignal | undefined
  /** Called with the verdict on each case. */
  readonly onVerdict?: ((verdict: CaseVerdict) => void) | undefined
}

/** The verdicts of a check, and the mistakes of the handler. */
export interface HandlerReport {
  /** Whether all cases were sent, and the handler reacted correctly to each. */
  readonly isRight: boolean
  /** Whether the handler answered at least once. */
  readonly hasAnswered: boolean
  /** The mistakes of the handler, the most serious first; empty if there are none. */
  readonly findings: readonly HandlerFinding[]
  /** One verdict for each case, in the order of sending. */
  readonly verdicts: readonly CaseVerdict[]
}

const knownOptions: Readonly<Record<keyof HandlerCheckOptions, true>> = {
  url: true,
  secret: true,
  headers: true,
  types: true,
  only: true,
  timeoutMs: true,
  signal: true,
  onVerdict: true,
}

/** The check ends after this many consecutive cases without an answer. */
const unansweredMax = 3

/**
 * Sends webhooks to a handler, one after another: some that a correct handler accepts, and some that it refuses.
 * Reports the mistakes of the handler.
 *
 * ```ts
 * const { findings } = await checkHandler({ url, secret })
 * assert.deepEqual(findings, [])
 * ```
 *
 * All webhooks have the user id `u_sample`. Some have the type `delete`, unless `types` excludes it.
 *
 * @throws SettingError naming the option and what it accepts
 */
export async function checkHandler(options: HandlerCheckOptions): Promise<HandlerReport> {
  return prepareHandlerCheck(options, createRuntime()).run()
}

/** Validates the options and makes the cases, without sending them. Throws a SettingError for an invalid option. */
export function prepareHandlerCheck(options: HandlerCheckOptions, runtime: Runtime) {
  checkOptionNames(options, knownOptions)
  const { secret, types = eventTypes, only, timeoutMs = limits.endpointDeadlineMs } = options
  checkWholeNumber('timeoutMs', timeoutMs, [1, limits.endpointDeadlineMs])
  checkTypes(types)
  const destination = checkDestination({
    id: 'check',
    sourceIds: [],
    endpoints: [{ url: checkUrl('url', options.url), headers: options.headers ?? {} }],
    sharedSecret: secret,
  })
  if (destination.sharedSecret === undefined) {
    throw new SettingError('secret', 'Cannot check a handler without its secret')
  }
  const nowMs = runtime.clock.nowMs()
  const cases = checkCases({ secret, types, only, id: runtime.newId(), nowMs })
  const run = (): Promise<HandlerReport> =>
    sendCases(cases, { options, destination, timeoutMs, runtime })
  return Object.freeze({ cases, run })
}

function checkTypes(types: readonly unknown[]): void {
  const unknown = types.find((type) => !isEventType(type))
  if (unknown === undefined && types.length > 0) return
  throw new SettingError(
    'types',
    `Cannot check the types ${JSON.stringify(types)}`,
    `Choose from ${eventTypes.join(', ')}.`,
  )
}

interface Sending {
  readonly options: HandlerCheckOptions
  readonly destination: Destination
  readonly timeoutMs: number
  readonly runtime: Runtime
}

async function sendCases(cases: readonly CheckCase[], sending: Sending): Promise<HandlerReport> {
  const { signal, onVerdict } = sending.options
  const verdicts: CaseVerdict[] = []
  let unanswered = 0
  for (const each of cases) {
    const isOver = unanswered >= unansweredMax || signal?.aborted === true
    const verdict = isOver ? verdictOn(each, undefined, 0) : await sendCase(each, sending)
    if (verdict.status !== null) unanswered = 0
    else if (verdict.reaction === 'timeout' || verdict.reaction === 'unreachable') unanswered += 1
    verdicts.push(verdict)
    onVerdict?.(verdict)
  }
  return Object.freeze({
    isRight: verdicts.every(({ isRight }) => isRight),
    hasAnswered: verdicts.some(({ status }) => status !== null),
    findings: diagnoseHandler(verdicts),
    verdicts: Object.freeze(verdicts),
  })
}

/** Sends a case over a new connection, so that a broken connection does not affect the next case. */
async function sendCase(each: CheckCase, sending: Sending): Promise<CaseVerdict> {
  const { destination, timeoutMs, runtime, options } = sending
  const [endpoint] = destination.endpoints as readonly [Endpoint]
  const { body, parts } = each
  const headers = { ...webhookHeaders(endpoint, each.signature), ...each.headers }
  const sender = new WebhookSender({
    destination,
    deadlineMs: timeoutMs + (parts?.length ?? 0) * partPauseMs,
    clock: runtime.clock,
    compose: () =>
      parts === undefined ? { headers, body } : inParts(headers, parts, runtime.clock),
  })
  const close = (): void => void sender.close()
  options.signal?.addEventListener('abort', close, { once: true })
  try {
    const startMs = runtime.clock.nowMs()
    const outcome = await sender.post(endpoint, { body, messageId: each.id })
    return verdictOn(each, outcome, runtime.clock.nowMs() - startMs)
  } finally {
    options.signal?.removeEventListener('abort', close)
    await sender.close()
  }
}

/** Lets the handler read each part before the next one arrives. A handler that is busy may read several at once. */
const partPauseMs = 20

function inParts(
  headers: RequestContent['headers'],
  parts: readonly Buffer[],
  clock: Clock,
): RequestContent {
  async function* pausing(): AsyncGenerator<Buffer> {
    for (const part of parts) {
      if (part !== parts[0]) await sleep(clock, partPauseMs)
      yield part
    }
  }
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return {
    headers: { ...headers, 'Content-Length': String(length) },
    body: Readable.from(pausing()),
  }
}
