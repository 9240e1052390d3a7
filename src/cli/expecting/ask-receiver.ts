import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'
import { text } from 'node:stream/consumers'
import {
  difference,
  type Expectation,
  type ExpectationResult,
  type NumberedSubject,
  type Shortfall,
} from '../../match/index.ts'
import {
  EvrouteError,
  failureText,
  isJsonObject,
  messageOf,
  plainText,
  SettingError,
  systemCode,
  type JsonObject,
  type JsonValue,
} from '../../model/index.ts'
import { readEventRecord } from '../../receiver/index.ts'

/** How to ask a receiver. */
export interface Question {
  readonly api: string
  /** Skip events up to this `seq`. */
  readonly after: number
  /** How long the receiver waits, in milliseconds; undefined for its default. */
  readonly timeoutMs: number | undefined
  /** Admits this machine to a receiver on another one. */
  readonly token: string | undefined
  /** Aborts the request. Its reason becomes the error. */
  readonly stop: AbortSignal
}

/**
 * Asks a running receiver to wait for an expectation.
 *
 * @throws SettingError if no receiver answers or it refuses; EvrouteError `expectation_unmet` if it dropped
 * events that would have to be counted
 */
export async function askReceiver(
  expectation: Expectation,
  { api, after, timeoutMs, token, stop }: Question,
): Promise<ExpectationResult> {
  const url = new URL('_evroute/wait', api.replace(/[?#].*$/s, '').replace(/\/*$/, '/'))
  url.searchParams.set('match', expectation.text)
  url.searchParams.set('after', String(after))
  if (timeoutMs !== undefined) url.searchParams.set('timeout', `${timeoutMs}ms`)
  const { status, body } = await ask(url, token, stop).catch((error: unknown) => {
    if (stop.aborted) throw error
    throw new SettingError(
      '--api',
      `Cannot reach a receiver at ${plainText(api)}: ${failureText(systemCode(error) ?? messageOf(error))}`,
      'Check that `evroute listen` runs there.',
    )
  })
  const result = isJsonObject(body) ? resultOf(expectation, body) : undefined
  if (result !== undefined) return result
  throw refusalOf(status, body) ?? stranger(api)
}

/** No client timeout: the receiver ends the wait. */
function ask(
  url: URL,
  token: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly body: unknown }> {
  return new Promise((resolve, reject) => {
    const get = url.protocol === 'https:' ? getHttps : getHttp
    const onResponse = (response: IncomingMessage): void => {
      text(response).then((json) => {
        resolve({ status: response.statusCode ?? 0, body: parsed(json) })
      }, reject)
    }
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    get(url, { signal, agent: false, headers }, onResponse).on('error', reject)
  })
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

function resultOf(expectation: Expectation, body: JsonObject): ExpectationResult | undefined {
  const error = isJsonObject(body['error']) ? body['error'] : undefined
  const told = (error ?? body)['expectation']
  if (!isJsonObject(told)) return undefined
  const { matched, account } = told
  if (typeof matched !== 'number' || typeof account !== 'string') return undefined
  const { text } = expectation
  const shortfall = error === undefined ? undefined : shortfallOf(expectation, error)
  const state = shortfall === undefined ? 'met' : 'unmet'
  return { text, state, matched, account: plainText(account), shortfall }
}

function shortfallOf({ match }: Expectation, error: JsonObject): Shortfall {
  const surplus = eventOf(error['surplus'])
  if (surplus !== undefined) return { reason: 'too_many', surplus }
  const nearest = eventOf(error['nearest'])
  const lateMs = typeof error['lateMs'] === 'number' ? error['lateMs'] : 0
  const rows = nearest === undefined ? [] : difference(match, nearest)
  return { reason: 'too_few', nearest, difference: rows, lateMs }
}

function eventOf(record: JsonValue | undefined): NumberedSubject | undefined {
  return isJsonObject(record) ? readEventRecord(record) : undefined
}

function refusalOf(status: number, body: unknown): EvrouteError | undefined {
  const error = isJsonObject(body) ? body['error'] : undefined
  if (!isJsonObject(error) || typeof error['message'] !== 'string') return undefined
  const message = `The receiver refuses: ${plainText(error['message'])}`
  return status === 409
    ? new EvrouteError({
        code: 'expectation_unmet',
        message,
        hint: 'Pass --after with the seq of a later event.',
      })
    : new SettingError('--api', message)
}

function stranger(api: string): SettingError {
  return new SettingError(
    '--api',
    `What answers at ${plainText(api)} is no receiver of evroute`,
    'Pass the URL that `evroute listen` prints.',
  )
}
