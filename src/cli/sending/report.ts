import {
  formatDuration,
  type Ledger,
  type Rejection,
  type RequestRecord,
  type SettledDelivery,
  plainText,
} from '../../model/index.ts'
import {
  lineLog,
  logFromEnvironment,
  silentLog,
  type Log,
  type Observer,
} from '../../runtime/index.ts'
import { drained, type Io } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { startProgress } from '../output/progress.ts'
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
  readonly #elapsedMs: () => number
  #endProgress = (): void => undefined
  #done = 0
  #failed = 0
  #problemLines = 0
  #lastProblem = ''
  #retriesAnnounced = false
  #drained: Promise<void> | undefined

  /** @param elapsedMs - the time since the command began */
  constructor(io: Io, options: SendingOptions, elapsedMs: () => number) {
    this.#io = io
    this.#options = options
    this.#style = createStyle(wantsColor(io, io.stderr, options.color))
    this.#elapsedMs = elapsedMs
  }

  /** Shows progress from now on, until the summary or `close`. */
  begin(): void {
    if (this.#options.quiet) return
    const color = wantsColor(this.#io, this.#io.stderr, this.#options.color)
    this.#endProgress = startProgress(this.#io, () => this.#progressText(), color)
  }

  /** Where rooms say what they do: on stderr, details as DEBUG asks, warnings but for `--quiet`. */
  get log(): Log {
    const { debug } = logFromEnvironment({ ...this.#io.env })
    if (this.#options.quiet) return { debug, warn: silentLog.warn }
    const { warn } = lineLog((line) => this.#line(line))
    return {
      debug,
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
      if (outcome === 'retry') this.#announceRetries(error)
    }
  }

  settled(delivery: SettledDelivery): void {
    const { messageId, type, state, attempts, reason } = delivery
    this.#done++
    if (state !== 'delivered') this.#failed++
    if (this.#options.json) {
      this.#record(deliveryRecord(delivery))
    } else if (state !== 'delivered') {
      const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
      this.#problem(`${type} ${plainText(messageId)} ${state} after ${tries}: ${reason ?? ''}`)
    }
  }

  /** A row that was not taken. */
  rejected(line: number, { code, message }: Rejection): void {
    if (this.#options.json) this.#record({ kind: 'rejected', line, code, message })
    else this.#problem(`line ${line}: ${plainText(message)} (${code})`)
  }

  /** A service took a row. */
  acknowledged(): void {
    this.#done++
  }

  /** What would be sent, where nothing is: data, for a program or for a person. */
  planned(plan: Plan): void {
    this.#done++
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
    this.#endProgress()
    const hidden = this.#problemLines - problemLinesMax
    if (hidden > 0) {
      const lines = hidden === 1 ? '1 more line' : `${formatCount(hidden)} more lines`
      this.#io.stderr.write(`... and ${lines}; --json has them all\n`)
    }
    if (this.#options.json) {
      this.#record({ kind: 'summary', ...ledger, ms: Math.round(durationMs) })
    } else {
      this.#io.stderr.write(summaryLine(ledger, durationMs, this.#style))
    }
  }

  /** Text for a person on stderr, whatever the flags. */
  note(text: string): void {
    this.#io.stderr.write(`${text}\n`)
  }

  /** Resolves once whoever reads stdout has caught up. */
  async ready(): Promise<void> {
    await this.#drained
  }

  /** Takes the progress line away. */
  close(): void {
    this.#endProgress()
  }

  #record(record: Readonly<Record<string, unknown>>): void {
    this.#data(recordLine(record))
  }

  #data(text: string): void {
    if (this.#io.stop.reason === 'output_closed') return
    if (this.#io.stdout.write(text)) return
    this.#drained ??= drained(this.#io).then(() => (this.#drained = undefined))
  }

  #problem(text: string): void {
    if (this.#options.quiet) return
    this.#problemLines++
    if (this.#problemLines <= problemLinesMax || this.#options.verbose) this.#line(`${text}\n`)
  }

  /** Says once that what fails for now is not given up: the next line may take a while. */
  #announceRetries(error: string | null): void {
    const { quiet, retryForMs } = this.#options
    if (this.#retriesAnnounced || quiet || retryForMs === 0) return
    this.#retriesAnnounced = true
    const cause =
      error === 'ECONNREFUSED' ? 'Nothing listens there; is `evroute listen` running? ' : ''
    const text = `${cause}It is tried again for ${formatDuration(retryForMs)}; see --retry-for`
    this.#line(`${this.#style.faint(`  └ ${text}`)}\n`)
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
    return `${time}  attempt ${attempt}  ${answer}  ${url}  ${end}`
  }

  #progressText(): string {
    const rate = Math.round(this.#done / (this.#elapsedMs() / 1_000))
    const parts = [`${formatCount(this.#done)} done`, `${formatCount(rate)}/s`]
    if (this.#failed > 0) parts.push(`${formatCount(this.#failed)} failed`)
    if (this.#lastProblem !== '') parts.push(`last problem: ${this.#lastProblem}`)
    return parts.join(' · ')
  }
}
