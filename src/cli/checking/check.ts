import {
  prepareHandlerCheck,
  checkCases,
  type CaseVerdict,
  type HandlerReport,
  type HandlerFinding,
} from '../../handler-check/index.ts'
import {
  endpointName,
  recordLine,
  columnsOf,
  cutToColumns,
  formatDuration,
  fullUrl,
} from '../../model/index.ts'
import { createRuntime } from '../../runtime/index.ts'
import type { CheckValues } from '../commands/check.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { handlerIn } from '../flags.ts'
import { DataWriter, writeData, type Io } from '../io.ts'
import { countOf } from '../output/numbers.ts'
import { styleOf, type Style } from '../output/style.ts'
import { wrapText } from '../output/wrap.ts'
import { readHeaders, requireSecret } from '../secret.ts'

/** Checks a handler. Prints a verdict for each case, then the mistakes that explain the failed cases. */
export async function check(given: string, values: CheckValues, io: Io): Promise<ExitCode> {
  const { types, only, timeoutMs } = values
  const handler = values.language === undefined ? '' : `\n${await handlerIn(values.language)}`
  const headers = await readHeaders(values.headers, io)
  const secret = await requireSecret(values.secret, io)
  const writer = new DataWriter(io)
  const style = styleOf(io, 'stdout', values.color)
  const output = values.json
    ? recordOutput(writer)
    : textOutput(writer, { style, columns: io.stdout.columns }, values.quiet)
  const runtime = createRuntime()
  const url = fullUrl(given)
  const options = { url, headers, types, only, timeoutMs, secret, signal: io.stop }
  const prepared = prepareHandlerCheck({ ...options, onVerdict: output.verdict }, runtime)
  output.ready(url, prepared.cases.length)
  const startMs = runtime.clock.nowMs()
  const report = await prepared.run()
  output.ended(report, runtime.clock.nowMs() - startMs)
  await writer.ready()
  if (report.isRight) return exitCodes.ok
  if (io.stop.aborted) return exitCodes.interrupted
  io.stderr.write(handler)
  return report.hasAnswered ? exitCodes.badSignature : exitCodes.deliveryFailed
}

type CheckOutput = ReturnType<typeof recordOutput>

function textOutput(writer: DataWriter, view: CheckView, quiet: boolean): CheckOutput {
  const print = (text: string): void => {
    if (!quiet) writer.write(text)
  }
  let heading: CaseVerdict['expected'] | undefined
  return {
    ready: (url) => print(`Checking ${endpointName(url)}\n`),
    verdict: (verdict) => {
      const { expected, reaction } = verdict
      // Print no line for a case that was not sent: the summary counts those.
      if (reaction === 'not_sent') return
      if (heading !== expected) print(`\n${view.style.faint(headings[expected])}\n`)
      heading = expected
      print(verdictText(verdict, view))
    },
    ended: (report, durationMs) => {
      for (const finding of report.findings) writer.write(findingText(finding, view))
      writer.write(checkSummaryText(report, durationMs, view))
    },
  }
}

function recordOutput(writer: DataWriter) {
  return {
    ready: (url: string, cases: number): void =>
      writer.record({ kind: 'ready', url: endpointName(url), cases }),
    verdict: (found: CaseVerdict): void => {
      const { id, type, expected, reaction, isRight, status, error, durationMs } = found
      const verdict = { case: id, type, expected, reaction, right: isRight, status, error }
      writer.record({ kind: 'verdict', ...verdict, ms: durationMs })
    },
    ended: (report: HandlerReport, durationMs: number): void => {
      for (const { code, message, fix, cases } of report.findings) {
        writer.record({ kind: 'finding', code, message, fix, cases })
      }
      writer.record({ kind: 'summary', ...countVerdicts(report), ms: durationMs })
    },
  }
}

/** Prints the cases that a check would send, and sends nothing. */
export async function listCases({ types, only, json }: CheckValues, io: Io): Promise<ExitCode> {
  const cases = checkCases({ types, only, secret: 'not used', id: 'list', nowMs: 0 })
  const lines = cases.map(({ id, expected, type, about }) =>
    json
      ? recordLine({ kind: 'case', case: id, type, expected, about })
      : `${id.padEnd(caseIdColumns)}  ${expected.padEnd(7)}  ${about}\n`,
  )
  await writeData(io, lines.join(''))
  return exitCodes.ok
}

interface CheckView {
  readonly style: Style
  readonly columns: number | undefined
}

const casesNamedMax = 6
const caseIdColumns = 16
const answerColumns = 7
const durationColumns = 7

const headings = {
  taken: 'A correct handler accepts these',
  refused: 'A correct handler refuses these',
} as const

function verdictText(verdict: CaseVerdict, { style, columns = Infinity }: CheckView): string {
  const { id, about, isRight, durationMs } = verdict
  const answer = answerOf(verdict).padEnd(answerColumns)
  const duration = formatDuration(durationMs).padStart(durationColumns)
  const before = `${id.padEnd(caseIdColumns)}  ${answer} ${duration}  `
  const line = before + cutToColumns(about, Math.max(columns - columnsOf(before) - 2, 1))
  return isRight ? `${style.good('✔')} ${line}\n` : `${style.bad('✖')} ${style.strong(line)}\n`
}

function answerOf({ status, error, reaction }: CaseVerdict): string {
  if (status !== null) return String(status)
  // Shorten this error code, because the column is narrow.
  return error === 'connection_closed' ? 'closed' : (error ?? reaction)
}

function findingText(finding: HandlerFinding, { style, columns = Infinity }: CheckView): string {
  const { message, fix, cases } = finding
  const wrapped = (text: string): readonly string[] => wrapText(text, columns - 2).split('\n')
  const [first = '', ...rest] = wrapped(message)
  const lines = [
    `${style.bad('✖')} ${style.strong(first)}`,
    ...rest.map((line) => `  ${style.strong(line)}`),
    ...wrapped(`Fix: ${fix}`).map((line) => `  ${line}`),
    ...wrapped(`Cases: ${casesText(cases)}`).map((line) => style.faint(`  ${line}`)),
  ]
  return `\n${lines.join('\n')}\n`
}

/** Names the first few cases. The printed verdicts above this text show all of them. */
function casesText(cases: readonly string[]): string {
  const more = cases.length - casesNamedMax
  if (more <= 1) return cases.join(', ')
  return `${cases.slice(0, casesNamedMax).join(', ')} and ${more} more`
}

function countVerdicts({ verdicts }: HandlerReport) {
  const notSent = verdicts.filter(({ reaction }) => reaction === 'not_sent').length
  const right = verdicts.filter(({ isRight }) => isRight).length
  return { right, wrong: verdicts.length - right - notSent, notSent }
}

function checkSummaryText(report: HandlerReport, durationMs: number, { style }: CheckView): string {
  const { right, wrong, notSent } = countVerdicts(report)
  const all = right + wrong + notSent
  const isRight = right === all
  const parts = [
    `${right} of ${countOf(all, 'case')} right`,
    ...(wrong > 0 ? [`${wrong} wrong`] : []),
    ...(notSent > 0 ? [`${notSent} not sent`] : []),
  ]
  const line = `${isRight ? style.good('✔') : style.bad('✖')} ${parts.join(', ')}`
  return `\n${line} (${formatDuration(durationMs)})\n`
}
