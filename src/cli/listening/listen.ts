import { open, type FileHandle } from 'node:fs/promises'
import { EvrouteError, formatDuration, messageOf } from '../../model/index.ts'
import {
  Receiver,
  SummaryMemory,
  type ReceivedCounts,
  type ReceivedEvent,
  type ReceiverAddress,
} from '../../receiver/index.ts'
import { stopwatch } from '../../runtime/index.ts'
import { exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { recordLine } from '../output/records.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { eventRecord } from './event-record.ts'
import { eventText } from './event-text.ts'

/** What `listen` is asked to do, checked. */
export interface ListenOptions {
  /** The address to bind. */
  readonly host: string
  /** The port to bind, 0 for a free one. */
  readonly port: number
  /** Checks signatures with it. */
  readonly secret: string | undefined
  /** Answers a bad or missing signature with 401 and ends. */
  readonly strict: boolean
  /** The status of the answers. */
  readonly status: number | undefined
  /** The wait before each answer. */
  readonly delayMs: number | undefined
  /** Ends after so many well-formed webhooks. */
  readonly count: number | undefined
  /** Ends after this time. */
  readonly timeoutMs: number | undefined
  /** Appends every request to this file. */
  readonly save: string | undefined
  /** NDJSON on stdout. */
  readonly json: boolean
  /** No lines beside those of requests. */
  readonly quiet: boolean
  /** Whole payloads. */
  readonly verbose: boolean
  /** False with `--no-color`. */
  readonly color: boolean
}

/** Receives until the count, the time, a bad signature or a signal ends it. */
export async function listen(options: ListenOptions, io: Io): Promise<ExitCode> {
  const elapsedMs = stopwatch()
  const view = options.json ? jsonView(io) : textView(io, options)
  const receiver = new Receiver({ ...options, eventsMax: 0 })
  const capture = options.save === undefined ? undefined : await Capture.open(options.save)
  const badSignature = new AbortController()
  receiver.on('event', (event) => {
    view.event(event)
    capture?.append(event)
    const { signature } = event
    if (options.strict && (signature === 'invalid' || signature === 'missing')) badSignature.abort()
  })
  try {
    view.ready(await receiver.start())
    const stop = AbortSignal.any([io.stop, badSignature.signal])
    const met = await untilEnd({ receiver, options, stop })
    await receiver.close()
    view.summary(receiver.counts, elapsedMs())
    return gravest([
      badSignature.signal.aborted ? exitCodes.badSignature : exitCodes.ok,
      met ? exitCodes.ok : exitCodes.expectationUnmet,
    ])
  } finally {
    await receiver.close()
    await capture?.close()
  }
}

/**
 * Waits for whatever ends the command.
 *
 * @returns false when the webhooks that were waited for did not arrive in time
 */
async function untilEnd(parts: {
  readonly receiver: Receiver
  readonly options: ListenOptions
  readonly stop: AbortSignal
}): Promise<boolean> {
  const { receiver, stop } = parts
  const { count, timeoutMs } = parts.options
  const stopped = new Promise<true>((resolve) => {
    if (stop.aborted) resolve(true)
    stop.addEventListener('abort', () => resolve(true), { once: true })
  })
  const arrived = receiver.waitFor(count ?? Infinity, { timeoutMs }).then(
    () => true,
    // Without a count the time is all that was asked for.
    () => count === undefined,
  )
  return Promise.race([arrived, stopped])
}

/** Tells what arrives. */
interface ListenView {
  ready(address: ReceiverAddress): void
  event(event: ReceivedEvent): void
  summary(counts: ReceivedCounts, durationMs: number): void
}

function jsonView(io: Io): ListenView {
  const write = (record: Readonly<Record<string, unknown>>): void => {
    if (io.stop.reason !== 'output_closed') io.stdout.write(recordLine(record))
  }
  return {
    ready: ({ url, port }) =>
      write({ kind: 'ready', url, urls: [url], port, inspector: null, pid: process.pid }),
    event: (event) => write(eventRecord(event)),
    summary: (counts, durationMs) =>
      write({ kind: 'summary', ...counts, ms: Math.round(durationMs) }),
  }
}

function textView(io: Io, options: ListenOptions): ListenView {
  const memory = new SummaryMemory()
  const style = createStyle(wantsColor(io, io.stdout, options.color))
  const aside = createStyle(wantsColor(io, io.stderr, options.color))
  const { verbose, quiet } = options
  return {
    ready: (address) => {
      if (!quiet) io.stderr.write(banner(address, options, aside))
    },
    event: (event) => {
      if (io.stop.reason === 'output_closed') return
      const { columns } = io.stdout
      io.stdout.write(eventText(event, { style, memory, verbose, columns }))
    },
    summary: (counts, durationMs) => {
      if (!quiet) io.stderr.write(`${countsText(counts)} in ${formatDuration(durationMs)}\n`)
    },
  }
}

function banner({ url }: ReceiverAddress, options: ListenOptions, style: Style): string {
  const { secret, strict, host } = options
  const signature =
    secret === undefined
      ? style.warning('not checked; pass --secret')
      : `checked${strict ? ', and anything but a valid one is refused' : ''}`
  const lines = [
    `Listening  ${style.strong(url)}`,
    `Signature  ${signature}`,
    style.faint('Ctrl-C stops it. Try `evroute send track` in another terminal.'),
  ]
  if (!/^(127\.|localhost$|::1$)/.test(host)) {
    lines.unshift(style.warning(`Other machines can reach this receiver: it listens on ${host}`))
  }
  return `${lines.join('\n')}\n\n`
}

function countsText(counts: ReceivedCounts): string {
  const { wellFormed } = counts
  const parts = [`${formatCount(wellFormed)} ${wellFormed === 1 ? 'webhook' : 'webhooks'}`]
  if (counts.malformed > 0) parts.push(`${formatCount(counts.malformed)} malformed`)
  if (counts.valid > 0) parts.push(`${formatCount(counts.valid)} with a valid signature`)
  if (counts.invalid > 0) parts.push(`${formatCount(counts.invalid)} with a wrong one`)
  if (counts.missing > 0) parts.push(`${formatCount(counts.missing)} without one`)
  return parts.join(', ')
}

/** A file that every request is appended to, byte for byte. */
class Capture {
  readonly #path: string
  readonly #file: FileHandle
  #written: Promise<void> = Promise.resolve()

  private constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  static async open(path: string): Promise<Capture> {
    try {
      return new Capture(path, await open(path, 'a'))
    } catch (error) {
      throw cannotWrite(path, error)
    }
  }

  append(event: ReceivedEvent): void {
    const line = recordLine(eventRecord(event))
    this.#written = this.#written.then(() => this.#file.appendFile(line))
    // Told by close, which is awaited.
    this.#written.catch(() => undefined)
  }

  async close(): Promise<void> {
    try {
      await this.#written
    } catch (error) {
      throw cannotWrite(this.#path, error)
    } finally {
      await this.#file.close()
    }
  }
}

function cannotWrite(path: string, cause: unknown): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: `Cannot save to ${path}: ${messageOf(cause)}`,
    hint: 'Check that the folder exists and may be written to.',
    cause,
  })
}
