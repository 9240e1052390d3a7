import {
  formatDuration,
  type Ledger,
  type Rejection,
  type RequestRecord,
  type SettledDelivery,
} from '../../model/index.ts'
import { lineLog, silentLog, type Log, type Observer } from '../../runtime/index.ts'
import type { Io } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { startProgress, type Progress } from '../output/progress.ts'
import { recordLine } from '../output/records.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { formatTimeOfDay } from '../output/time.ts'
import { summaryLine } from '../output/summary-line.ts'
import type { Plan } from './dry-outlet.ts'
import type { OutletLedger } from './outlet.ts'
import { planText } from './plan-text.ts'
import type { SendingOptions } from './sending-options.ts'
import { deliveryRecord, requestRecord } from './sending-records.ts'

/** Lines about things that went wrong, before the summary stands for the rest. */
const problemLinesMax = 20

/** Tells the user what happens while calls are sent: records on stdout, or lines on stderr. */
export class Report implements Observer {
  readonly #io: Io
  readonly #options: SendingOptions
  readonly #style: Style
  readonly #progress: Progress
  #settled = 0
  #failed = 0
  #problemLines = 0
  #lastProblem = ''
  #stdoutFull = false

  /** @param elapsedMs - the time since the command began */
  constructor(io: Io, options: SendingOptions, elapsedMs: () => number) {
    this.#io = io
    this.#options = options
    this.#style = createStyle(wantsColor(io, io.stderr, options.color))
    const text = (): string => this.#progressText(elapsedMs())
    this.#progress = options.quiet ? noProgress : startProgress(io, text)
  }

  /** Where rooms say what they do: on stderr, but for details and unless `--quiet` is given. */
  get log(): Log {
    if (this.#options.quiet) return silentLog
    const { warn } = lineLog((line) => this.#line(line))
    return {
      debug: silentLog.debug,
      warn: (message, fields) => {
        // A timeout has a line of its own, as every request that did not succeed.
        if (fields?.['code'] !== 'timeout') warn(message, fields)
      },
    }
  }

  request(record: RequestRecord): void {
    const { outcome, error, url } = record
    if (outcome !== 'success') this.#lastProblem = `${error ?? ''} from ${url}`
    if (this.#options.json) {
      this.#record(requestRecord(record))
    } else if (this.#options.verbose) {
      this.#line(`${this.#requestText(record)}\n`)
    } else if (outcome !== 'success') {
      this.#problem(this.#requestText(record))
    }
  }

  settled(delivery: SettledDelivery): void {
    const { messageId, type, state, attempts, reason } = delivery
    this.#settled++
    if (state !== 'delivered') this.#failed++
    if (this.#options.json) {
      this.#record(deliveryRecord(delivery))
    } else if (state !== 'delivered') {
      const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
      this.#problem(`${type} ${messageId} ${state} after ${tries}: ${reason ?? ''}`)
    }
  }

  /** A row that was not taken. */
  rejected(line: number, { code, message }: Rejection): void {
    if (this.#options.json) this.#record({ kind: 'rejected', line, code, message })
    else this.#problem(`line ${line}: ${message} (${code})`)
  }

  /** What would be sent, where nothing is: data, for a program or for a person. */
  planned(plan: Plan): void {
    if (!this.#options.json) {
      this.#data(
        planText(plan, createStyle(wantsColor(this.#io, this.#io.stdout, this.#options.color))),
      )
      return
    }
    const { messageId, type, decision, urls, body, signature } = plan
    const { send = true, reason = null, hint = null } = decision ?? {}
    this.#record({ kind: 'plan', messageId, type, send, reason, hint, urls, body, signature })
  }

  /** The last word: counts that balance. */
  summary(ledger: Ledger & OutletLedger, durationMs: number): void {
    this.#progress.stop()
    const hidden = this.#problemLines - problemLinesMax
    if (hidden > 0) {
      this.#io.stderr.write(`... and ${formatCount(hidden)} more lines; --json has them all\n`)
    }
    if (this.#options.json) {
      this.#record({ kind: 'summary', ...ledger, ms: Math.round(durationMs) })
    } else {
      this.#io.stderr.write(summaryLine(ledger, durationMs, this.#style))
    }
  }

  /** Text for a person on stderr, whatever the flags. */
  note(text: string): void {
    this.#progress.around(() => this.#io.stderr.write(`${text}\n`))
  }

  /** Resolves once whoever reads stdout has caught up. */
  async ready(): Promise<void> {
    if (!this.#stdoutFull || this.#io.stop.aborted) return
    await new Promise<void>((resolve) => {
      this.#io.stdout.once('drain', resolve)
      this.#io.stop.addEventListener('abort', () => resolve(), { once: true })
    })
    this.#stdoutFull = false
  }

  /** Takes the progress line away. */
  close(): void {
    this.#progress.stop()
  }

  #record(record: Readonly<Record<string, unknown>>): void {
    this.#data(recordLine(record))
  }

  #data(text: string): void {
    if (this.#io.stop.reason === 'output_closed') return
    if (!this.#io.stdout.write(text)) this.#stdoutFull = true
  }

  #problem(text: string): void {
    if (this.#options.quiet) return
    this.#problemLines++
    if (this.#problemLines <= problemLinesMax || this.#options.verbose) this.#line(`${text}\n`)
  }

  #line(line: string): void {
    if (this.#options.json && !this.#options.verbose) return
    this.#progress.around(() => this.#io.stderr.write(line))
  }

  #requestText(record: RequestRecord): string {
    const { messageId, url, attempt, outcome, error, status, durationMs, atMs } = record
    const look = { success: 'good', retry: 'warning', final: 'bad' } as const
    const answer = this.#style[look[outcome]](error ?? String(status))
    const time = this.#style.faint(formatTimeOfDay(atMs))
    const end = this.#style.faint(`${formatDuration(durationMs)}  ${messageId}`)
    return `${time}  attempt ${attempt}  ${answer}  ${url}  ${end}`
  }

  #progressText(elapsedMs: number): string {
    const rate = Math.round(this.#settled / (elapsedMs / 1_000))
    const parts = [`${formatCount(this.#settled)} done`, `${formatCount(rate)}/s`]
    if (this.#failed > 0) parts.push(`${formatCount(this.#failed)} failed`)
    if (this.#lastProblem !== '') parts.push(`last problem: ${this.#lastProblem}`)
    return parts.join(' · ')
  }
}

const noProgress: Progress = { around: (write) => write(), stop: () => undefined }
