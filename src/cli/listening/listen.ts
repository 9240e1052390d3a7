import { once } from 'node:events'
import { endpointName, formatDuration, plainText, recordLine } from '../../model/index.ts'
import {
  eventRecord,
  Receiver,
  scenarioNamed,
  SummaryMemory,
  type ForwardTarget,
  type NamedSecret,
  type ReceivedCounts,
  type ReceivedEvent,
  type ReceiverAddress,
} from '../../receiver/index.ts'
import type { ExpectationResult } from '../../match/index.ts'
import { stopwatch, systemClock } from '../../runtime/index.ts'
import { exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import type { ExpectationSettings } from '../expecting/expectation-flags.ts'
import { resultRecord, tellResults } from '../expecting/tell-results.ts'
import { DataWriter, type Io } from '../io.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { defaultUrl } from '../sending/sending-options.ts'
import { AuthorityFile } from './authority-file.ts'
import { Capture } from './capture.ts'
import { inspectorUrl, networkPageUrl, openPage } from './inspector-page.ts'
import { countsText } from './counts-text.ts'
import { eventText } from './event-text.ts'
import type { FaultFlags } from './fault-flags.ts'
import { faultOptions } from './fault-options.ts'
import { resentText } from './forward-text.ts'
import { EventProgram } from './on-event.ts'
import { listenScreen, type ListenScreen } from './keys/listen-screen.ts'

/** What `listen` is asked to do, checked. */
export interface ListenOptions extends ExpectationSettings {
  /** The address to bind. */
  readonly host: string
  /** The port to bind, 0 for a free one. */
  readonly port: number
  /** Checks signatures with it. */
  readonly secret: string | undefined
  /** Secrets that a sender may use by mistake. */
  readonly otherSecrets: readonly NamedSecret[]
  /** Answers a bad or missing signature with 401 and ends. */
  readonly strict: boolean
  /** What is injected into its answers. */
  readonly faults: FaultFlags
  /** Ends after so many well-formed webhooks. */
  readonly count: number | undefined
  /** Ends after this time. */
  readonly timeoutMs: number | undefined
  /** Appends every request to this file; ends when one cannot be written. */
  readonly save: string | undefined
  /** False with `--no-input`: no keys, even on a terminal. */
  readonly input: boolean
  /** Where webhooks are forwarded to. */
  readonly forwardTo: readonly ForwardTarget[]
  /** Time that a target has to answer; 0 for as long as it takes. */
  readonly forwardTimeoutMs: number | undefined
  /** Forwards requests and runs the program also where the Origin is foreign or the signature not valid. */
  readonly allowUnverified: boolean
  /** Runs this program with its arguments for every request. */
  readonly onEvent: readonly [program: string, ...args: string[]] | undefined
  /** NDJSON on stdout. */
  readonly json: boolean
  /** No lines beside those of requests. */
  readonly quiet: boolean
  /** Payloads. */
  readonly verbose: boolean
  /** False with `--no-color`. */
  readonly color: boolean
}

/** Receives until the count, the time, a bad signature or a signal ends it. */
export async function listen(options: ListenOptions, io: Io): Promise<ExitCode> {
  const elapsedMs = stopwatch()
  const screen = await listenScreen(options, io)
  const view = options.json ? jsonView(screen) : await textView(screen, options)
  const receiver = new Receiver({ ...options, ...faultOptions(options.faults) })
  const capture = options.save === undefined ? undefined : await Capture.open(options.save)
  let authority: AuthorityFile | undefined
  const program = eventProgram(options, screen.io)
  const badSignature = new AbortController()
  receiver.on('event', (event) => {
    const { signature } = event
    if (options.strict && (signature === 'invalid' || signature === 'missing')) badSignature.abort()
    const told = Promise.all([view.event(event), capture?.append(event)])
    if (event.withheld === null) program.run(event)
    return told
  })
  try {
    const address = await receiver.start()
    if (address.authority !== null) authority = await AuthorityFile.write(address.authority)
    view.ready({ ...address, ca: authority?.path ?? null })
    const page = inspectorUrl(address.url, address.pageToken)
    screen.open({ receiver, resend: resendOver(receiver, options), openPage: () => openPage(page) })
    const ends = [io.stop, badSignature.signal, capture?.failed].filter((end) => end !== undefined)
    const stop = AbortSignal.any(ends)
    const judging = judge(receiver, options)
    await untilEnd({ receiver, options, stop, judging })
    await receiver.close()
    const isCountReached = receiver.counts.wellFormed >= (options.count ?? 0)
    const results = await judging
    await program.close(io.stop)
    view.summary({ counts: receiver.counts, results, durationMs: elapsedMs() })
    const told = { ...options, title: 'evroute listen', durationMs: elapsedMs() }
    const judged = await tellResults(results, told, screen.io)
    return gravest([
      badSignature.signal.aborted ? exitCodes.badSignature : exitCodes.ok,
      isCountReached ? judged : exitCodes.expectationUnmet,
    ])
  } finally {
    await receiver.close()
    await program.close(io.stop)
    authority?.remove()
    await screen.close()
    await capture?.close()
  }
}

/** What forwards a request again and tells how it ended; undefined where nothing is forwarded. */
function resendOver(
  receiver: Receiver,
  { forwardTo }: ListenOptions,
): ((event: ReceivedEvent) => Promise<string>) | undefined {
  if (forwardTo.length === 0) return undefined
  return async (event) => resentText(await receiver.forward(event))
}

/** What is run for every request. */
interface RequestProgram {
  run(event: ReceivedEvent): void
  close(stop: AbortSignal): Promise<void>
}

/** A program that gets the record of the request, or nothing. */
function eventProgram({ onEvent, quiet }: ListenOptions, io: Io): RequestProgram {
  if (onEvent === undefined) return { run: () => undefined, close: () => Promise.resolve() }
  const [program, ...args] = onEvent
  const write = (text: string): void => {
    if (!quiet) io.stderr.write(text)
  }
  const runs = new EventProgram({ program, args, env: io.env, write })
  return {
    run: (event) => runs.run(event.seq, recordLine(eventRecord(event))),
    close: (stop) => runs.close(stop),
  }
}

/** Resolves when all expectations are decided, at the latest with the time or the receiver. */
async function judge(
  receiver: Receiver,
  { expectations, timeoutMs = Infinity }: ListenOptions,
): Promise<readonly ExpectationResult[]> {
  const judging = expectations.map(({ text }) => receiver.judge(text, { timeoutMs }))
  return (await Promise.all(judging)).map(({ result }) => result)
}

/**
 * Resolves when everything expected has arrived, the time is over, or something else ends it. Answers that are
 * delayed or forwarded at that moment are cut short by closing the receiver.
 */
async function untilEnd(parts: {
  readonly receiver: Receiver
  readonly options: ListenOptions
  readonly stop: AbortSignal
  readonly judging: Promise<unknown>
}): Promise<void> {
  const { receiver, stop, judging } = parts
  const { count, timeoutMs, expectations } = parts.options
  const countOrNone = count ?? (expectations.length > 0 ? 0 : Infinity)
  const end = new AbortController()
  const ended = once(AbortSignal.any([stop, end.signal]), 'abort')
  const timer =
    timeoutMs === undefined ? undefined : systemClock.schedule(timeoutMs, () => end.abort())
  // A time-out shows in the counts and the results.
  const arrived = receiver.waitFor(countOrNone, { timeoutMs }).catch(() => undefined)
  if (!stop.aborted) await Promise.race([Promise.all([arrived, judging]), ended])
  timer?.cancel()
}

/** Where the receiver can be reached. */
interface ListenAddress extends ReceiverAddress {
  /** The file with the certificate of its authority; null where there is none. */
  readonly ca: string | null
}

/** What there is to tell at the end. */
interface ListenSummary {
  readonly counts: ReceivedCounts
  readonly results: readonly ExpectationResult[]
  readonly durationMs: number
}

/** Tells what arrives. */
interface ListenView {
  ready(address: ListenAddress): void
  /** Resolves once the reader has caught up. */
  event(event: ReceivedEvent): Promise<void>
  summary(summary: ListenSummary): void
}

function jsonView(screen: ListenScreen): ListenView {
  const stdout = new DataWriter(screen.io)
  const write = (record: Readonly<Record<string, unknown>>): void =>
    stdout.write(recordLine(record))
  return {
    ready: ({ url, urls, port, ca, pageToken }) =>
      write({
        kind: 'ready',
        url,
        urls,
        port,
        inspector: inspectorUrl(url, pageToken),
        ca,
        pid: process.pid,
      }),
    event: (event) => {
      if (screen.arrive(event)) write(eventRecord(event))
      return stdout.ready()
    },
    summary: ({ counts, results, durationMs }) => {
      const expectations = results.length === 0 ? {} : { expectations: results.map(resultRecord) }
      write({ kind: 'summary', ...counts, ...expectations, ms: Math.round(durationMs) })
    },
  }
}

async function textView(screen: ListenScreen, options: ListenOptions): Promise<ListenView> {
  const { io } = screen
  const memory = new SummaryMemory()
  const stdout = new DataWriter(io)
  const style = await createStyle(wantsColor(io, io.stdout, options.color))
  const aside = await createStyle(wantsColor(io, io.stderr, options.color))
  const { verbose, quiet, forwardTo, onEvent } = options
  const passesOn = forwardTo.length > 0 || onEvent !== undefined
  return {
    ready: (address) => {
      if (!quiet) io.stderr.write(banner(address, options, aside))
    },
    event: (event) => {
      const { columns } = io.stdout
      // Written for what is not shown too: the memory takes in all of it.
      const text = eventText(event, { style, memory, verbose, columns, passesOn })
      if (screen.arrive(event)) stdout.write(text)
      return stdout.ready()
    },
    summary: ({ counts, durationMs }) => {
      if (!quiet) io.stderr.write(`${countsText(counts)} in ${formatDuration(durationMs)}\n`)
    },
  }
}

function banner(address: ListenAddress, options: ListenOptions, style: Style): string {
  const { secret, strict, host, faults, forwardTo } = options
  const { url, urls, ca, pageToken } = address
  const page = inspectorUrl(url)
  const networkPage = networkPageUrl(url, pageToken)
  const signature =
    secret === undefined
      ? style.warning('not checked; pass --secret')
      : `checked${strict ? ', and anything but a valid one is refused' : ''}`
  const lines = [
    ...(urls.length === 1 ? urls : urls.map((url, index) => `${url} @${index + 1}`)).map(
      (url, index) => `${index === 0 ? 'Listening' : '         '}  ${style.strong(url)}`,
    ),
    ...(page === null ? [] : [`Page       ${page}`]),
    ...(networkPage === null ? [] : [`Anywhere   ${networkPage}`]),
    `Signature  ${signature}`,
    ...expectationLines(options, style),
    ...forwardTo.map(
      ({ type, url }) => `Forward    ${type === null ? '' : `${type} to `}${endpointName(url)}`,
    ),
    ...(ca === null ? [] : [`Authority  ${ca}`]),
    ...scenarioLines(faults),
    style.faint(`Ctrl-C stops it. Try \`${sendCommand(address, options)}\` in another terminal.`),
  ]
  if (!/^(127\.|localhost$|::1$)/.test(host)) {
    lines.unshift(style.warning(`Other machines can reach this receiver: it listens on ${host}`))
  }
  return `${lines.join('\n')}\n\n`
}

function expectationLines(
  { expectations, timeoutMs }: ListenOptions,
  style: Style,
): readonly string[] {
  return expectations.map(({ text, count, withinMs }) => {
    // Until then one too many can come.
    const isEndless = count.atMost < Infinity && timeoutMs === undefined && withinMs === undefined
    const end = isEndless ? ` ${style.faint('until --timeout or Ctrl-C')}` : ''
    return `Expecting  ${plainText(text)}${end}`
  })
}

function scenarioLines({ scenario }: FaultFlags): readonly string[] {
  if (scenario === undefined) return []
  const { name, rule, expected } = scenarioNamed(scenario)
  return [`Scenario   ${name}: ${rule}`, `           Expected: ${expected.text}.`]
}

/** What sends a webhook here; a secret is not repeated. */
function sendCommand({ urls, ca }: ListenAddress, { secret, faults }: ListenOptions): string {
  const trust = ca === null ? '' : `NODE_EXTRA_CA_CERTS=${ca} `
  const isDefault = urls.length === 1 && `${urls[0] ?? ''}/` === defaultUrl
  const to = isDefault ? '' : urls.map((url) => ` --to ${url}`).join('')
  const signed = secret === undefined ? '' : ' --secret ...'
  return `${trust}evroute send track${to}${signed}${scenarioFlags(faults)}`
}

/** What is retried for hours is over in a moment that way. */
function scenarioFlags({ scenario }: FaultFlags): string {
  if (scenario === undefined) return ''
  const { webhooks } = scenarioNamed(scenario)
  return `${webhooks === 1 ? '' : ` --count ${webhooks}`} --retry-for 4h --clock virtual`
}
