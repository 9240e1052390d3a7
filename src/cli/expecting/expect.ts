import {
  difference,
  ExpectationTracker,
  parseExpectation,
  type Expectation,
  type ExpectationResult,
  type NumberedSubject,
  type Shortfall,
} from '../../match/index.ts'
import {
  recordLine,
  EvrouteError,
  failureText,
  fullUrl,
  isJsonObject,
  messageOf,
  parseUrl,
  plainText,
  SettingError,
  systemCode,
  shortText,
  type JsonObject,
  type JsonValue,
} from '../../model/index.ts'
import { readEventRecord, readCapture } from '../../receiver/index.ts'
import { stopwatch } from '../../runtime/index.ts'
import type { ExpectValues } from '../commands/expect.ts'
import { exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import { aboutFile, openInputOf } from '../input.ts'
import { writeData, type Io } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { jsonReply, sendRequest, type HttpRequest } from '../store-access/service-api.ts'
import { readGiven } from '../secret.ts'
import { resultRecord, reportResults } from './report-results.ts'

/** Checks expectations against a running receiver or a capture, and reports the results. */
export async function expect(
  texts: readonly string[],
  values: ExpectValues,
  io: Io,
): Promise<ExitCode> {
  const elapsedMs = stopwatch()
  const { results, badRows } = await resultsOf(texts.map(parseExpectation), values, io)
  const lineOf = (result: ExpectationResult): string =>
    recordLine({ kind: 'expectation', ...resultRecord(result) })
  if (values.json) await writeData(io, results.map(lineOf).join(''))
  const view = { ...values, title: 'evroute expect', durationMs: elapsedMs() }
  const code = await reportResults(results, view, io)
  return gravest([code, badRows > 0 ? exitCodes.badInput : exitCodes.ok])
}

async function resultsOf(
  expectations: readonly Expectation[],
  { api, path, timeoutMs, after, ...given }: ExpectValues,
  io: Io,
) {
  if (path !== undefined && api === undefined) {
    if (timeoutMs === undefined) return captureResults({ path, after }, expectations, io)
    throw new SettingError(
      '--timeout',
      'Cannot use --timeout with --in: reading a file needs no time limit',
      'Omit --timeout.',
    )
  }
  if (api === undefined || path !== undefined) {
    const hint = 'Pass either --api with the URL of a receiver or --in with a file.'
    throw new SettingError('--api', 'Cannot tell where to look for events', hint)
  }
  const receiver = fullUrl(api)
  if (!/^https?:\/\//i.test(receiver) || parseUrl(receiver) === undefined) {
    const message = `Cannot use ${api}: it must be an http URL`
    throw new SettingError('--api', message, 'Pass the URL that `evroute listen` prints.')
  }
  const token = await readGiven(given.token, io, '--token')
  const url = new URL('_evroute/wait', receiver.replace(/[?#].*$/s, '').replace(/\/*$/, '/'))
  url.searchParams.set('after', String(after))
  if (timeoutMs !== undefined) url.searchParams.set('timeout', `${timeoutMs}ms`)
  const headers: Readonly<Record<string, string>> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  const end = new AbortController()
  const request = { method: 'GET', headers, signal: AbortSignal.any([io.stop, end.signal]) }
  const asking = expectations.map((expectation) => askReceiver(expectation, url, request))
  try {
    return { results: await Promise.all(asking), badRows: 0 }
  } finally {
    // If the receiver refuses one expectation, don't wait for the others.
    end.abort()
  }
}

/**
 * Asks a receiver to wait for an expectation. Throws `cannot_reach` if nothing answers, `expectation_unmet` if the
 * receiver no longer keeps events that count, and a SettingError for any other answer without a result.
 */
async function askReceiver(
  expectation: Expectation,
  base: URL,
  request: HttpRequest,
): Promise<ExpectationResult> {
  const url = new URL(base)
  url.searchParams.set('match', expectation.text)
  // No timeout: the receiver limits the wait.
  const { status, body } = await sendRequest(url, request)
    .then(jsonReply)
    .catch((error: unknown) => {
      if (request.signal.aborted) throw error
      throw new EvrouteError({
        code: 'cannot_reach',
        message: `Cannot reach a receiver at ${base.origin}: ${failureText(systemCode(error) ?? messageOf(error))}`,
        hint: 'Check that `evroute listen` is running there.',
        cause: error,
      })
    })
  const result = isJsonObject(body) ? resultOf(expectation, body) : undefined
  if (result !== undefined) return result
  const { message } = isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : {}
  if (typeof message !== 'string') {
    throw new SettingError(
      '--api',
      `The server at ${base.origin} is not an evroute receiver`,
      'Pass the URL that `evroute listen` prints.',
    )
  }
  const text = `The receiver refused the request: ${plainText(message)}`
  if (status !== 409) throw new SettingError('--api', text)
  const hint = 'Pass --after with the seq of a later event.'
  throw new EvrouteError({ code: 'expectation_unmet', message: text, hint })
}

function resultOf(expectation: Expectation, body: JsonObject): ExpectationResult | undefined {
  const error = isJsonObject(body['error']) ? body['error'] : undefined
  const expected = (error ?? body)['expectation']
  if (!isJsonObject(expected)) return undefined
  const { matched, account } = expected
  if (typeof matched !== 'number' || typeof account !== 'string') return undefined
  const { text } = expectation
  const shortfall = error === undefined ? undefined : shortfallOf(expectation, error, matched)
  const state = shortfall === undefined ? 'met' : 'unmet'
  return { text, state, matched, account: plainText(account), shortfall }
}

function shortfallOf({ match }: Expectation, error: JsonObject, matched: number): Shortfall {
  const surplus = eventOf(error['surplus'])
  if (surplus !== undefined) return { reason: 'too_many', surplus }
  const nearest = eventOf(error['nearest'])
  const numberOf = (value: JsonValue | undefined): number => (typeof value === 'number' ? value : 0)
  const [lateMs, others] = [numberOf(error['lateMs']), numberOf(error['others'])]
  const rows = nearest === undefined ? [] : difference(match, nearest)
  return { reason: 'too_few', nearest, difference: rows, lateMs, matched, others }
}

function eventOf(record: JsonValue | undefined): NumberedSubject | undefined {
  return isJsonObject(record) ? readEventRecord(record) : undefined
}

/** Checks expectations against a capture's events with a `seq` above `after`. The first of them starts the clock. */
async function captureResults(
  { path, after }: { readonly path: string; readonly after: number },
  expectations: readonly Expectation[],
  io: Io,
) {
  const trackersFrom = (atMs: number) =>
    expectations.map((each) => new ExpectationTracker<NumberedSubject>(each, atMs))
  let trackers: ReturnType<typeof trackersFrom> | undefined
  let badRows = 0
  for await (const part of aboutFile(path, readCapture(await openInputOf(path, io)))) {
    for (const { line, problem } of part.badRows) {
      badRows += 1
      if (badRows > badRowLinesMax) continue
      const shown = shortText(problem, problemCharactersMax)
      io.stderr.write(`Line ${line} of ${plainText(path)} is not counted: ${shown}\n`)
    }
    for (const event of part.events) {
      if (event.seq <= after) continue
      trackers ??= trackersFrom(event.atMs)
      for (const tracker of trackers) tracker.observe(event)
    }
  }
  if (badRows > badRowLinesMax) {
    io.stderr.write(`... and ${formatCount(badRows - badRowLinesMax)} more\n`)
  }
  trackers ??= trackersFrom(0)
  return { results: trackers.map((tracker) => tracker.result()), badRows }
}

/** Further bad rows are only counted. */
const badRowLinesMax = 10

/** Maximum length of a shown problem. The message of a parser may contain the row. */
const problemCharactersMax = 120
