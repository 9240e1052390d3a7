import type { BatchRetry } from '../../client/index.ts'
import {
  endpointName,
  formatDuration,
  type EndpointChange,
  type DeliveryLedger,
  type Ledger,
  type RequestRecord,
  type SettledDelivery,
  plainText,
  recordLine,
} from '../../model/index.ts'
import {
  lineLog,
  logFromEnvironment,
  silentLog,
  type Log,
  type Observer,
} from '../../runtime/index.ts'
import { DataWriter, type Io } from '../io.ts'
import { errorRecord, errorText } from '../output/error.ts'
import { formatCount } from '../output/numbers.ts'
import { startProgress } from '../output/progress.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { formatTimeOfDay } from '../output/time.ts'
import { summaryLine } from '../output/summary-line.ts'
import type { RowPlace } from './call-queue.ts'
import type { Plan } from './dry-outlet.ts'
import type { OutletLedger } from './outlet.ts'
import { planText } from './plan-text.ts'
import type { SendingOptions } from './sending-options.ts'
import { deliveryRecord, requestRecord, type EndedDelivery } from './sending-records.ts'

/** Maximum number of lines about failed requests and deliveries before only the summary counts them. */
const problemLinesMax = 20
/** Maximum number of lines about rejected rows. No other output says which rows to fix. */
const rejectionLinesMax = 100

/**
 * The shortest delay before a retry. A copy of the retry policy's value: importing the policy would load
 * everything that delivers.
 */
export const firstRetryMs = 8_000

/** Why a row was rejected. */
interface RowProblem {
  readonly code: string
  readonly message: string
}

/** What is shown, and how. */
export interface ReportOptions extends Pick<
  SendingOptions,
  'json' | 'quiet' | 'verbose' | 'color' | 'retryForMs'
> {
  /** Replaces the line that says how long a delivery is retried. */
  readonly retryNote?: string
}

/** The result of a command that moves events. */
export interface Closing {
  /** The ledger; without `read` and `rejected` if the input does not consist of calls. */
  readonly ledger: OutletLedger & DeliveryLedger & Partial<Ledger>
  /** The duration of the command, in milliseconds. */
  readonly durationMs: number
  /** Rows that were not selected; undefined if the command selects none. */
  readonly skipped: number | undefined
}

interface ReportParts {
  readonly io: Io
  readonly options: ReportOptions
  readonly elapsedMs: () => number
  readonly style: Style
  readonly dataStyle: Style
}

/** Reports what happens while calls are sent: records on stdout, or lines on stderr. */
export class Report implements Observer {
  readonly #io: Io
  readonly #options: ReportOptions
  /** The style of stderr. */
  readonly #style: Style
  readonly #dataStyle: Style
  readonly #elapsedMs: () => number
  readonly #stdout: DataWriter
  #endProgress = (): void => undefined
  #done = 0
  #failed = 0
  #problemLines = 0
  #rejectionLines = 0
  #lastProblem = ''
  #retriesAnnounced = false

  private constructor({ io, options, elapsedMs, style, dataStyle }: ReportParts) {
    this.#io = io
    this.#stdout = new DataWriter(io)
    this.#options = options
    this.#style = style
    this.#dataStyle = dataStyle
    this.#elapsedMs = elapsedMs
  }

  /**
   * Opens a report.
   *
   * @param elapsedMs - returns the time since the command began
   */
  static async open(io: Io, options: ReportOptions, elapsedMs: () => number): Promise<Report> {
    const { color } = options
    const style = await createStyle(wantsColor(io, io.stderr, color))
    const dataStyle = await createStyle(wantsColor(io, io.stdout, color))
    return new Report({ io, options, elapsedMs, style, dataStyle })
  }

  /**
   * Shows progress until the summary or `close`.
   *
   * @param text - returns the progress line; by default the number of finished rows
   */
  begin(text = (): string => this.#progressText()): void {
    if (this.#options.quiet) return
    const color = wantsColor(this.#io, this.#io.stderr, this.#options.color)
    this.#endProgress = startProgress(this.#io, text, color)
  }

  /** Writes to stderr: details if DEBUG asks for them, warnings unless `--quiet` is given. */
  get log(): Log {
    const { debug, info } = logFromEnvironment({ ...this.#io.env })
    if (this.#options.quiet) return { debug, info, warn: silentLog.warn }
    const { warn } = lineLog((line) => this.#line(line))
    return {
      debug,
      info,
      warn: (message, fields) => {
        // Like every failed request, a timeout has its own line.
        if (fields?.['code'] !== 'timeout') warn(message, fields)
      },
    }
  }

  request(record: RequestRecord): void {
    const { outcome, error, url } = record
    if (outcome !== 'success') this.#lastProblem = `${error ?? ''} from ${endpointName(url)}`
    if (this.#options.json) {
      this.#record(requestRecord(record))
    } else if (this.#options.verbose) {
      this.#line(`${this.#requestText(record)}\n`)
    } else if (outcome !== 'success') {
      this.#problem(this.#requestText(record))
      // A request that this process interrupted is not retried.
      if (outcome === 'retry' && error !== 'interrupted') this.#announceRetries(error)
    }
  }

  settled(delivery: SettledDelivery): void {
    this.#settled(delivery, '')
  }

  endpoint({ url, probeAtMs, error }: EndpointChange): void {
    if (this.#options.json) return
    const name = endpointName(url)
    const text =
      probeAtMs === null
        ? `${name} answers again`
        : `${name} is left alone until ${formatTimeOfDay(probeAtMs)}: ${error ?? ''}; what waits for it is parked`
    this.#problem(text)
  }

  /** A row will not reach the service; the message says why. */
  failed(delivery: EndedDelivery, message: string): void {
    this.#settled(delivery, ` (${plainText(message)})`)
  }

  /** A batch for a service will be retried. */
  retrying({ callCount, attempt, delayMs, reason }: BatchRetry): void {
    this.#lastProblem = reason
    if (this.#options.json) return
    const calls = callCount === 1 ? '1 call' : `${formatCount(callCount)} calls`
    const next = `tried again in ${formatDuration(Math.round(delayMs))}`
    this.#problem(`attempt ${attempt} for a batch of ${calls}: ${plainText(reason)}; ${next}`)
  }

  /** A row was rejected. */
  rejected({ file, line }: RowPlace, { code, message }: RowProblem): void {
    const { json, quiet, verbose } = this.#options
    if (json) {
      this.#record({
        kind: 'rejected',
        ...(file === undefined ? {} : { file }),
        line,
        code,
        message,
      })
    } else if (!quiet) {
      this.#rejectionLines++
      if (this.#rejectionLines > rejectionLinesMax && !verbose) return
      const place = file === undefined ? `line ${line}` : `${plainText(file)} line ${line}`
      this.#line(`${place}: ${plainText(message)} (${code})\n`)
    }
  }

  /** Reports an error that ends the transfer early. The summary still follows. */
  failure(error: unknown): void {
    const { json } = this.#options
    this.#io.stderr.write(json ? errorRecord(error) : errorText(error, this.#style))
  }

  /** A service acknowledged a row. */
  acknowledged(): void {
    this.#done++
  }

  /** Writes a plan of a dry run to stdout. */
  planned(plan: Plan): void {
    this.#done++
    if (!this.#options.json) {
      if (!this.#options.quiet) this.#stdout.write(planText(plan, this.#dataStyle))
      return
    }
    const { messageId, type, decision, urls, body, signature } = plan
    const { send = true, reason = null, hint = null } = decision ?? {}
    this.#record({ kind: 'plan', messageId, type, send, reason, hint, urls, body, signature })
  }

  /** Writes the summary, whose counts balance. */
  summary({ ledger, durationMs, skipped }: Closing): void {
    this.#endProgress()
    if (this.#options.json) {
      const passedOver = skipped === undefined ? {} : { skipped }
      this.#record({ kind: 'summary', ...ledger, ...passedOver, ms: Math.round(durationMs) })
      return
    }
    if (!this.#options.quiet) this.#notesOnWhatIsNotShown(skipped ?? 0)
    this.#io.stderr.write(summaryLine(ledger, durationMs, this.#style))
  }

  /** Writes a note for the user to stderr, whatever the flags. */
  note(text: string): void {
    this.#io.stderr.write(`${text}\n`)
  }

  /** Resolves when the reader of stdout has caught up. */
  async ready(): Promise<void> {
    await this.#stdout.ready()
  }

  /** Removes the progress line. */
  close(): void {
    this.#endProgress()
  }

  #record(record: Readonly<Record<string, unknown>>): void {
    this.#stdout.write(recordLine(record))
  }

  #settled(delivery: EndedDelivery, explanation: string): void {
    const { messageId, type, state, attempts, reason } = delivery
    this.#done++
    if (state !== 'delivered') this.#failed++
    if (this.#options.json) {
      this.#record(deliveryRecord(delivery))
    } else if (state !== 'delivered') {
      const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
      const outcome = `${state} after ${tries}: ${reason ?? ''}${explanation}`
      this.#problem(`${type} ${plainText(messageId)} ${outcome}`)
    }
  }

  #notesOnWhatIsNotShown(skipped: number): void {
    const { verbose } = this.#options
    const rejections = this.#rejectionLines - rejectionLinesMax
    if (rejections > 0 && !verbose) {
      const rows =
        rejections === 1 ? '1 more rejected row' : `${formatCount(rejections)} more rejected rows`
      this.note(`... and ${rows}; --dry-run --json has them all`)
    }
    const problems = this.#problemLines - problemLinesMax
    if (problems > 0 && !verbose) {
      const lines = problems === 1 ? '1 more line' : `${formatCount(problems)} more lines`
      this.note(`... and ${lines}; --json has them all`)
    }
    if (skipped > 0) {
      this.note(
        skipped === 1 ? '1 row was not selected' : `${formatCount(skipped)} rows were not selected`,
      )
    }
  }

  #problem(text: string): void {
    if (this.#options.quiet) return
    this.#problemLines++
    if (this.#problemLines <= problemLinesMax || this.#options.verbose) this.#line(`${text}\n`)
  }

  /** Says once that failed requests are retried: the next line may take a while. */
  #announceRetries(error: string | null): void {
    const { quiet, retryForMs, retryNote } = this.#options
    if (this.#retriesAnnounced || quiet || retryForMs < firstRetryMs) return
    this.#retriesAnnounced = true
    const cause =
      error === 'ECONNREFUSED' ? 'Nothing listens there; is `evroute listen` running? ' : ''
    const how = retryNote ?? `It is tried again for ${formatDuration(retryForMs)}; see --retry-for`
    this.#line(`${this.#style.faint(`  └ ${cause}${how}`)}\n`)
  }

  #line(line: string): void {
    if (this.#options.json && !this.#options.verbose) return
    this.#io.stderr.write(line)
  }

  #requestText(record: RequestRecord): string {
    const { messageId, url, attempt, outcome, error, status, durationMs, atMs } = record
    const look = { success: 'good', retry: 'warning', final: 'bad' } as const
    const answer = this.#style[look[outcome]](error ?? String(status))
    const time = this.#style.faint(formatTimeOfDay(atMs))
    const end = this.#style.faint(`${formatDuration(durationMs)}  ${plainText(messageId)}`)
    return `${time}  attempt ${attempt}  ${answer}  ${endpointName(url)}  ${end}`
  }

  #progressText(): string {
    const rate = Math.round(this.#done / (this.#elapsedMs() / 1_000))
    const parts = [`${formatCount(this.#done)} done`, `${formatCount(rate)}/s`]
    if (this.#failed > 0) parts.push(`${formatCount(this.#failed)} not delivered`)
    if (this.#lastProblem !== '') parts.push(`last problem: ${this.#lastProblem}`)
    return parts.join(' · ')
  }
}
