import { appendFile, writeFile } from 'node:fs/promises'
import { shortfallText, type ExpectationResult } from '../../match/index.ts'
import { EvrouteError, messageOf, plainText } from '../../model/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import type { ReportFile } from '../flags.ts'
import type { Io } from '../io.ts'
import { cannotWrite, writeError } from '../output/error.ts'
import {
  githubAnnotations,
  githubSummary,
  junitXml,
  type Report,
  type ReportCase,
} from '../output/ci-report.ts'
import { formatCount } from '../output/numbers.ts'
import { styleOf, type Style } from '../output/style.ts'

interface ResultsView {
  readonly title: string
  readonly durationMs: number
  readonly json: boolean
  readonly quiet: boolean
  readonly color: boolean
  readonly reports: readonly ReportFile[]
  readonly cases?: readonly ReportCase[]
}

/** Converts the result of an expectation to its JSON record. */
export function resultRecord(result: ExpectationResult): Readonly<Record<string, unknown>> {
  const { text, state, matched, account } = result
  return { text, state, matched, account }
}

/**
 * Reports the results of expectations on stderr and in the report files. In GitHub Actions it also writes annotations
 * and a job summary. Returns 5 if an expectation or one of the `cases` failed.
 */
export async function reportResults(
  results: readonly ExpectationResult[],
  options: ResultsView,
  io: Io,
): Promise<ExitCode> {
  printResults(results, options, io)
  const { title, durationMs, cases = [] } = options
  const expected = results.map(({ text: name, account: message, shortfall }) => {
    if (shortfall === undefined) return { name, failure: undefined }
    const failure = { type: shortfall.reason, message, detail: shortfallText(shortfall) }
    return { name, failure }
  })
  const report = { title, cases: [...expected, ...cases], durationMs }
  await writeGithub(report, io)
  await writeReports(options.reports, junitXml(report))
  const isFailed = report.cases.some(({ failure }) => failure !== undefined)
  return isFailed ? exitCodes.expectationUnmet : exitCodes.ok
}

function printResults(results: readonly ExpectationResult[], options: ResultsView, io: Io): void {
  const { json, quiet, color, cases = [] } = options
  if (results.length + cases.length === 0) return
  const style = styleOf(io, 'stderr', color)
  for (const result of results) {
    if (result.state === 'met' && (quiet || json)) continue
    if (json) writeError(io, unmetError(result), options)
    else io.stderr.write(resultText(result, style, io.stderr.columns))
  }
  for (const { name, failure } of cases) {
    const { message = '', detail = '' } = failure ?? {}
    const lines = detail.split('\n').map((line) => `${indent}${line}\n`)
    io.stderr.write(`${style.bad('✖')} ${name}: ${message}\n${lines.join('')}`)
  }
}

function unmetError({ text, account, shortfall }: ExpectationResult): EvrouteError {
  const detail = shortfall === undefined ? '' : `\n${shortfallText(shortfall)}`
  return new EvrouteError({ code: 'expectation_unmet', message: `${text}: ${account}${detail}` })
}

function resultText(result: ExpectationResult, style: Style, columns = 80): string {
  const { text, account, matched, shortfall } = result
  const name = plainText(text)
  if (shortfall === undefined)
    return `${style.good('✔')} ${name}: ${formatCount(matched)} arrived\n`
  const rows = shortfallText(shortfall, columns - indent.length).split('\n')
  const shown = rows.map((row) => indent + (row.startsWith('!') ? style.bad(row) : row))
  return `${style.bad('✖')} ${name}: ${account}\n${shown.join('\n')}\n`
}

const indent = '  '

async function writeGithub(report: Report, io: Io): Promise<void> {
  const { GITHUB_ACTIONS, GITHUB_STEP_SUMMARY } = io.env
  if (GITHUB_ACTIONS !== 'true' || report.cases.length === 0) return
  io.stderr.write(githubAnnotations(report))
  if (GITHUB_STEP_SUMMARY === undefined || GITHUB_STEP_SUMMARY === '') return
  // Don't let the job fail because its summary cannot be written.
  await appendFile(GITHUB_STEP_SUMMARY, githubSummary(report)).catch((error: unknown) =>
    io.stderr.write(`Cannot write the job summary: ${messageOf(error)}\n`),
  )
}

/** Writes the text to each report. Throws `cannot_write_file`. */
export async function writeReports(reports: readonly ReportFile[], text: string): Promise<void> {
  for (const { path } of reports) {
    await writeFile(path, text).catch((error: unknown) => {
      const hint = 'Check that the folder exists and is writable.'
      throw cannotWrite(`Cannot write the report ${path}`, hint, error)
    })
  }
}
