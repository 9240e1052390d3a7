import {
  prepareHandlerCheck,
  type CaseVerdict,
  type HandlerCheckOptions,
  type HandlerReport,
} from '../../handler-check/index.ts'
import { endpointName, recordLine } from '../../model/index.ts'
import { createRuntime } from '../../runtime/index.ts'
import { codeOfEnd, exitCodes, type ExitCode } from '../exit-code.ts'
import { readLanguage } from '../flags.ts'
import { DataWriter, type Io } from '../io.ts'
import { createStyle, wantsColor } from '../output/style.ts'
import { requireSecret } from '../secret.ts'
import {
  checkSummaryText,
  countVerdicts,
  findingText,
  headingText,
  verdictText,
  type CheckView,
} from './check-text.ts'

/** What `check` was asked for. */
export interface CheckRequest {
  readonly target: Omit<HandlerCheckOptions, 'secret' | 'signal' | 'onVerdict'>
  readonly secret: string | undefined
  readonly language: string | undefined
  readonly json: boolean
  /** Only mistakes and the summary. */
  readonly quiet: boolean
  readonly color: boolean
}

/**
 * Checks a handler, and prints verdicts and mistakes.
 *
 * @returns 6 if the handler is wrong, 4 if it did not answer at all
 * @throws SettingError
 */
export async function check(request: CheckRequest, io: Io): Promise<ExitCode> {
  const language = await readLanguage(request.language)
  const secret = await requireSecret(request.secret, io)
  const output = await outputOf(request, io)
  const runtime = createRuntime()
  const prepared = prepareHandlerCheck(
    { ...request.target, secret, signal: io.stop, onVerdict: (each) => output.verdict(each) },
    runtime,
  )
  output.ready(request.target.url, prepared.cases.length)
  const startMs = runtime.clock.nowMs()
  const report = await prepared.run()
  output.ended(report, runtime.clock.nowMs() - startMs)
  await output.written()
  if (report.isRight) return exitCodes.ok
  if (io.stop.aborted) return codeOfEnd(io)
  if (language !== undefined) {
    const { snippets } = await import('../../receiver/index.ts')
    io.stderr.write(`\n${snippets[language]}`)
  }
  return report.hasAnswered ? exitCodes.badSignature : exitCodes.deliveryFailed
}

/** Prints a check as it goes. */
interface CheckOutput {
  ready(url: string, cases: number): void
  verdict(verdict: CaseVerdict): void
  ended(report: HandlerReport, durationMs: number): void
  /** Waits for a slow reader. */
  written(): Promise<void>
}

async function outputOf(request: CheckRequest, io: Io): Promise<CheckOutput> {
  const writer = new DataWriter(io)
  if (request.json) return new RecordOutput(writer)
  const style = await createStyle(wantsColor(io, io.stdout, request.color))
  return new TextOutput(writer, { style, columns: io.stdout.columns }, request.quiet)
}

/** For a person. */
class TextOutput implements CheckOutput {
  readonly #writer: DataWriter
  readonly #view: CheckView
  readonly #quiet: boolean
  #heading: CaseVerdict['expected'] | undefined

  constructor(writer: DataWriter, view: CheckView, quiet: boolean) {
    this.#writer = writer
    this.#view = view
    this.#quiet = quiet
  }

  ready(url: string): void {
    if (!this.#quiet) this.#writer.write(`Checking ${endpointName(url)}\n`)
  }

  verdict(verdict: CaseVerdict): void {
    if (this.#quiet) return
    const { expected } = verdict
    if (this.#heading !== expected) this.#writer.write(`\n${headingText(expected, this.#view)}`)
    this.#heading = expected
    this.#writer.write(verdictText(verdict, this.#view))
  }

  ended(report: HandlerReport, durationMs: number): void {
    for (const finding of report.findings) this.#writer.write(findingText(finding, this.#view))
    this.#writer.write(checkSummaryText(countVerdicts(report), durationMs, this.#view))
  }

  written(): Promise<void> {
    return this.#writer.ready()
  }
}

/** For a program. */
class RecordOutput implements CheckOutput {
  readonly #writer: DataWriter

  constructor(writer: DataWriter) {
    this.#writer = writer
  }

  ready(url: string, cases: number): void {
    this.#writer.write(recordLine({ kind: 'ready', url: endpointName(url), cases }))
  }

  verdict({ id, type, expected, reaction, isRight, status, error, durationMs }: CaseVerdict): void {
    const verdict = { case: id, type, expected, reaction, right: isRight, status, error }
    this.#writer.write(recordLine({ kind: 'verdict', ...verdict, ms: durationMs }))
  }

  ended(report: HandlerReport, durationMs: number): void {
    for (const { code, message, fix, cases } of report.findings) {
      this.#writer.write(recordLine({ kind: 'finding', code, message, fix, cases }))
    }
    const { right, wrong, notSent } = countVerdicts(report)
    this.#writer.write(recordLine({ kind: 'summary', right, wrong, notSent, ms: durationMs }))
  }

  written(): Promise<void> {
    return this.#writer.ready()
  }
}
