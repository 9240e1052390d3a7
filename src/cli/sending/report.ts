import type { BatchRetry } from '../../client/index.ts'
import {
  endpointName,
  failureText,
  formatDuration,
  plainText,
  type EndpointChange,
  type JsonObject,
  type Ledger,
  type RequestRecord,
} from '../../model/index.ts'
import {
  lineLog,
  logFromEnvironment,
  silentLog,
  type Log,
  type Observer,
} from '../../runtime/index.ts'
import { DataWriter, type Io } from '../io.ts'
import { asCalled } from '../output/command-line.ts'
import { writeError } from '../output/error.ts'
import { countOf, formatTimeOfDay } from '../output/numbers.ts'
import { progressText, startProgress } from '../output/progress.ts'
import { styleOf, type Style } from '../output/style.ts'
import {
  summaryLine,
  deliveryRecord,
  endedText,
  planText,
  requestRecord,
  requestText,
  singleText,
  type EndedDelivery,
  type SingleCall,
} from './report-text.ts'
import type { RowPosition, OutletLedger } from './outlet.ts'
import type { Plan } from './dry-outlet.ts'
import type { SendingOptions } from './sending-options.ts'

/** Maximum number of lines about failed requests and deliveries. Further ones are only counted. */
const problemLinesMax = 20
/** Maximum number of lines about rejected rows. It is high, because nothing else says which rows to fix. */
const rejectionLinesMax = 100

/** The options of a command that its {@link Report} depends on. */
export interface ReportOptions extends Pick<
  SendingOptions,
  'json' | 'quiet' | 'verbose' | 'color' | 'retryForMs'
> {
  readonly dryRun?: boolean
  /** The call and its URLs if the command sends only one call; undefined if it sends a file. */
  readonly single?: { readonly call: JsonObject; readonly urls: readonly string[] } | undefined
  /** Replaces the advice "Retrying for 1m; see --retry-for". */
  readonly retryNote?: string
}

/** Reports requests, deliveries, problems and the result: as records on stdout with `--json`, or as lines on stderr. */
export class Report implements Observer {
  readonly #io: Io
  readonly #options: ReportOptions
  readonly #elapsedMs: () => number
  readonly #style: Style
  readonly #dataStyle: Style
  /** Writes records and plans. */
  readonly stdout: DataWriter
  #endProgress = (): void => undefined
  #done = 0
  #failed = 0
  #request: RequestRecord | undefined
  #delivery: SingleCall['delivery']
  #problemLines = 0
  #rejected = 0
  #lastProblem = ''
  readonly #advised = new Set<'retries' | 'check' | 'redirect'>()
  #whyFiltered: string | undefined
  #isClosed = false

  constructor(io: Io, options: ReportOptions, elapsedMs: () => number) {
    this.#io = io
    this.#options = options
    this.#elapsedMs = elapsedMs
    this.#style = styleOf(io, 'stderr', options.color)
    this.#dataStyle = styleOf(io, 'stdout', options.color)
    this.stdout = new DataWriter(io)
  }

  /** Shows a progress line until the summary or `close`. */
  begin(text: () => string): void {
    const { quiet, json, color } = this.#options
    if (json && this.#io.stderr.isTTY !== true) return
    this.#endProgress = startProgress(this.#io, text, { quiet, color })
  }

  /** Formats the progress line. `taken` counts rows that were not rejected; `total` is undefined if it is unknown. */
  progress(taken: number, total: number | undefined): string {
    return progressText({
      done: this.#done,
      total,
      pending: Math.max(taken - this.#done, 0),
      failed: this.#failed,
      elapsedMs: this.#elapsedMs(),
      problem: this.#lastProblem,
    })
  }

  /** A log on stderr. Contains warnings unless `--quiet` is given, and the details that DEBUG asks for. */
  get log(): Log {
    const { debug, info } = logFromEnvironment({ ...this.#io.env })
    if (this.#options.quiet) return { debug, info, warn: silentLog.warn }
    const { warn } = lineLog((line) => this.#line(line))
    return {
      debug,
      info,
      warn: (message, fields) => {
        // `request` already writes a line for a request that timed out.
        if (fields?.['code'] !== 'timeout') warn(message, fields)
      },
    }
  }

  request(record: RequestRecord, nextAtMs?: number): void {
    const { outcome, error, url, status } = record
    const { json, verbose } = this.#options
    this.#request = record
    if (outcome !== 'success') {
      this.#lastProblem = `${failureText(error ?? '')} from ${endpointName(url)}`
    }
    if (json) {
      this.stdout.record(requestRecord(record))
    } else if (verbose || outcome !== 'success') {
      this.#problem(requestText(record, this.#style, nextAtMs))
      if (nextAtMs !== undefined && !verbose) this.#announceRetries(error)
      this.#adviseOn(status ?? 0, url)
    }
  }

  /** Reports a delivery that ended. `message` explains why a call could not be sent to a service. */
  settled(delivery: EndedDelivery, message?: string): void {
    const { messageId, type, state } = delivery
    const explanation = message === undefined ? '' : ` (${plainText(message)})`
    this.#done++
    if (state !== 'delivered') this.#failed++
    this.#delivery = { ...delivery, explanation }
    if (this.#options.json) {
      this.stdout.record(deliveryRecord(delivery))
    } else if (state !== 'delivered' && this.#options.single === undefined) {
      this.#problem(`${type} ${plainText(messageId)} ${endedText(this.#delivery)}`)
    }
  }

  endpoint({ url, probeAtMs, error }: EndpointChange): void {
    if (this.#options.json) return
    const name = endpointName(url)
    if (probeAtMs === null) this.#problem(`${name} answers again`)
    else {
      const wait = `its deliveries wait until the next probe at ${formatTimeOfDay(probeAtMs)}`
      this.#problem(`${name} is down: ${failureText(error ?? '')}; ${wait}`)
    }
  }

  /** Reports that a batch is sent again. */
  retrying({ callCount, attempt, delayMs, reason }: BatchRetry): void {
    this.#lastProblem = reason
    if (this.#options.json) return
    const calls = countOf(callCount, 'call')
    const next = `next try in ${formatDuration(Math.round(delayMs))}`
    this.#problem(
      `attempt ${attempt} for a batch of ${calls} failed: ${plainText(reason)}; ${next}`,
    )
  }

  get rejectedRows(): number {
    return this.#rejected
  }

  /** Reports a rejected row, even one that the outlet had taken. */
  rejected(
    { file, line }: RowPosition,
    { code, message }: Readonly<Record<'code' | 'message', string>>,
  ): void {
    const { json, quiet, verbose } = this.#options
    this.#rejected++
    if (json) {
      const problem = { line, code, message }
      this.stdout.record({ kind: 'rejected', ...(file === undefined ? {} : { file }), ...problem })
    } else if (!quiet && (this.#rejected <= rejectionLinesMax || verbose)) {
      const position = file === undefined ? `line ${line}` : `${plainText(file)} line ${line}`
      this.#line(`${position}: ${plainText(message)} (${code})\n`)
    }
  }

  /** Reports an error that ends the transfer early. The summary still follows. */
  failure(error: unknown): void {
    writeError(this.#io, error, this.#options)
  }

  acknowledged(): void {
    this.#done++
  }

  /** Reports a row that `--only` excluded. */
  filtered(plan: Plan): void {
    this.#whyFiltered = plan.decision?.hint
    if (this.#options.dryRun === true) this.planned(plan)
    else this.#done++
  }

  planned(plan: Plan): void {
    this.#done++
    const { json, quiet } = this.#options
    if (!json) {
      if (!quiet) this.stdout.write(planText(plan, this.#dataStyle))
      return
    }
    const { messageId, type, decision, isNamed, urls, body, signature } = plan
    const { destinationId, send = true, reason = null, hint = null } = decision ?? {}
    this.stdout.record({
      kind: 'plan',
      ...{ messageId, type },
      ...(isNamed === true ? { destination: destinationId } : {}),
      ...{ send, reason, hint, urls, body, signature },
    })
  }

  /**
   * Removes the progress line and writes the summary.
   *
   * @param ledger - has no `read` and no `rejected` if the command makes the calls itself
   * @param skipped - the number of rows that were not selected; undefined if the command sends all rows
   */
  summary(ledger: OutletLedger & Partial<Ledger>, durationMs: number, skipped?: number): void {
    this.close(skipped)
    if (this.#options.json) {
      const passedOver = skipped === undefined ? {} : { skipped }
      this.stdout.record({ kind: 'summary', ...ledger, ...passedOver, ms: Math.round(durationMs) })
      return
    }
    const isDry = this.#options.dryRun ?? false
    const single = this.#singleText({ ledger, isDry, durationMs })
    if (single !== undefined) this.#io.stderr.write(`${single}\n`)
    if (single !== undefined && !this.#options.verbose) return
    this.#io.stderr.write(summaryLine(ledger, durationMs, { style: this.#style, isDry }))
  }

  /** Writes a note to stderr, even with `--quiet` or `--json`. */
  note(text: string): void {
    this.#io.stderr.write(`${asCalled(text, this.#io)}\n`)
  }

  /** Removes the progress line. Prints how many lines were left out, and how many rows were `skipped`. Idempotent. */
  close(skipped = 0): void {
    this.#endProgress()
    const { json, quiet, verbose } = this.#options
    if (this.#isClosed || json || quiet) return
    this.#isClosed = true
    const rejections = this.#rejected - rejectionLinesMax
    if (rejections > 0 && !verbose) {
      const rows = countOf(rejections, 'more rejected row')
      this.note(`... and ${rows}; --dry-run --json lists all of them`)
    }
    const problems = this.#problemLines - problemLinesMax
    if (problems > 0 && !verbose) {
      this.note(`... and ${countOf(problems, 'more line')}; --json lists all of them`)
    }
    if (skipped > 0) this.note(`${countOf(skipped, 'row was', 'rows were')} not selected`)
  }

  /** Formats the line about the only call; undefined if there are several, or if the call was rejected. */
  #singleText(end: Pick<SingleCall, 'ledger' | 'isDry' | 'durationMs'>): string | undefined {
    const { single } = this.#options
    if (single === undefined || this.#rejected > 0) return undefined
    const [delivery, request, whyFiltered] = [this.#delivery, this.#request, this.#whyFiltered]
    return singleText({ ...single, ...end, delivery, request, whyFiltered }, this.#style)
  }

  #problem(text: string): void {
    if (this.#options.quiet) return
    this.#problemLines++
    if (this.#problemLines <= problemLinesMax || this.#options.verbose) this.#line(`${text}\n`)
  }

  /** Says that failed requests are retried. Otherwise, the pause before the next line would look like a hang. */
  #announceRetries(error: string | null): void {
    const { retryForMs, retryNote } = this.#options
    const cause =
      error === 'ECONNREFUSED' ? 'Nothing is listening there. Is `evroute listen` running? ' : ''
    this.#advise(
      'retries',
      cause + (retryNote ?? `Retrying for ${formatDuration(retryForMs)}; see --retry-for`),
    )
  }

  #adviseOn(status: number, url: string): void {
    if (status === 401 || status === 403) {
      const check = `evroute check ${endpointName(url)} --secret <secret>`
      this.#advise('check', `To see which signatures the endpoint accepts: \`${check}\``)
    }
    if (status >= 300 && status < 400) {
      const fix =
        'Use the URL that the endpoint redirects to, often the same with https or a trailing slash'
      this.#advise('redirect', `Redirects are not followed. ${fix}`)
    }
  }

  #advise(kind: 'retries' | 'check' | 'redirect', text: string): void {
    if (this.#options.quiet || this.#advised.has(kind)) return
    this.#advised.add(kind)
    this.#line(`${this.#style.faint(`  └ ${asCalled(text, this.#io)}`)}\n`)
  }

  #line(line: string): void {
    if (this.#options.json && !this.#options.verbose) return
    this.#io.stderr.write(line)
  }
}
