import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openInput } from '../../importer/index.ts'
import {
  parseExpectation,
  parseMatch,
  type Expectation,
  type ExpectationResult,
} from '../../match/index.ts'
import {
  endpointName,
  formatDuration,
  plainText,
  recordLine,
  SettingError,
} from '../../model/index.ts'
import {
  checkForwardTargets,
  eventRecord,
  readCapture,
  Receiver,
  receiverOptionsIn,
  scenarioNamed,
  SummaryMemory,
  type ReceivedCounts,
  type ReceivedEvent,
  type ReceiverAddress,
} from '../../receiver/index.ts'
import { stoppable, stopwatch, systemClock } from '../../runtime/index.ts'
import type { ListenValues } from '../commands/listen.ts'
import { exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import { resultRecord, reportResults } from '../expecting/report-results.ts'
import { aboutFile } from '../input.ts'
import { DataWriter, type Io } from '../io.ts'
import { programName, secretWord } from '../output/command-line.ts'
import { cannotWrite, usageError } from '../output/error.ts'
import { styleOf, type Style } from '../output/style.ts'
import { wrapText } from '../output/wrap.ts'
import { readGiven, readHeaders, readOtherSecrets, readSecret } from '../secret.ts'
import { defaultUrl } from '../sending/sending-options.ts'
import { openCapture } from './capture.ts'
import { inspectorUrl, networkPageUrl, openPage } from './inspector-page.ts'
import { countsText, eventText, resentText } from './event-text.ts'
import { checkProgram, EventProgram } from './on-event.ts'
import { listenScreen, type ListenScreen } from './keys/listen-keys.ts'

type ListenOptions = Awaited<ReturnType<typeof readOptions>>

/** Receives webhooks until everything expected has arrived, the time is up, or a signal or a bad signature arrives. */
export async function listen(
  values: ListenValues,
  args: readonly string[],
  io: Io,
): Promise<ExitCode> {
  const options = await readOptions(values, args, io)
  const elapsedMs = stopwatch()
  const screen = listenScreen(options, io)
  const view = options.json ? jsonView(screen) : textView(screen, options)
  const receiver = new Receiver({
    ...receiverOptionsIn({ ...options, ...options.scenario?.settings }),
    passesOn: options.onEvent !== undefined,
  })
  const capture = options.save === undefined ? undefined : await openCapture(options.save)
  const program = eventProgram(options, screen.io)
  const badSignature = new AbortController()
  receiver.on('event', (event) => {
    const { signature } = event
    if (options.strict && (signature === 'invalid' || signature === 'missing')) badSignature.abort()
    if (event.withheld === null) program?.run(event.seq, recordLine(eventRecord(event)))
    return Promise.all([view.event(event), capture?.append(event)])
  })
  try {
    const address = await receiver.start()
    using authority = address.authority === null ? null : await saveAuthority(address.authority)
    view.ready({ ...address, ca: authority?.path ?? null })
    await showLast(view, options)
    const page = inspectorUrl(address.url, address.pageToken)
    screen.open({
      receiver,
      url: address.url,
      secret: options.secret,
      resend:
        options.forwardTo.length === 0
          ? undefined
          : async (event) => resentText(await receiver.forward(event)),
      openPage: () => openPage(page),
    })
    const ends = [io.stop, badSignature.signal, capture?.failed].filter((end) => end !== undefined)
    const stop = AbortSignal.any(ends)
    const judging = judge(receiver, options)
    await untilEnd({ receiver, options, stop, judging })
    await receiver.close()
    const results = await judging
    await program?.close(io.stop)
    view.summary({ counts: receiver.counts, results, durationMs: elapsedMs() })
    const resultsView = { ...options, title: 'evroute listen', durationMs: elapsedMs() }
    const judged = await reportResults(results, resultsView, screen.io)
    return endCode(judged, receiver.counts, { ...options, badSignature: badSignature.signal })
  } finally {
    await receiver.close()
    await program?.close(io.stop)
    await screen.close()
    await capture?.close()
  }
}

async function readOptions(values: ListenValues, args: readonly string[], io: Io) {
  const onEvent = await readProgram(values.program, args, io)
  const { scenario, expect, shown, reports } = values
  if (values.last !== undefined && values.save === undefined) {
    throw new SettingError('--last', 'Cannot use --last without --save', 'Pass --save <file>.')
  }
  const secret = await readSecret(values.secret, io)
  const read = {
    ...{ ...values, secret, onEvent },
    /** The secret as it was given: a text, `@file` or `env:NAME`. */
    secretGiven: values.secret ?? (secret === undefined ? undefined : 'env:EVROUTE_SECRET'),
    scenario: scenario === undefined ? undefined : scenarioNamed(scenario),
    // A sender may have used one of these by mistake. The diagnosis of a wrong signature tries them.
    otherSecrets: await readOtherSecrets(values.config, io),
  }
  if (reports.length > 0 && expect.length === 0) {
    throw new SettingError('--report', 'Cannot report without an expectation', 'Pass --expect too.')
  }
  const expectations = expect.map((text) => parseExpectation(text))
  if (secret === undefined) refuseSignatures(expectations)
  return {
    ...{ ...read, expectations, filter: shown === undefined ? undefined : parseMatch(shown) },
    token: await readGiven(values.token, io, '--token'),
    forwardHeaders: await readHeaders(values.forwardHeaders, io, '--forward-header'),
  }
}

async function readProgram(
  program: string | undefined,
  args: readonly string[],
  io: Io,
): Promise<readonly [string, ...string[]] | undefined> {
  const hint = 'Write --on-event <program> [args].'
  if (program === '') throw usageError('Cannot run a program without a name', hint)
  if (program === undefined) {
    if (args.length === 0) return undefined
    const first = JSON.stringify(args[0])
    throw usageError(`Cannot use ${first}: only the --on-event program takes arguments`, hint)
  }
  await checkProgram(program, io.env)
  return [program, ...args]
}

/** Without a secret, no signature is valid or invalid. */
function refuseSignatures(expectations: readonly Expectation[]): void {
  const verdicts = ['valid', 'invalid', 'missing']
  const about = expectations.find(({ match }) =>
    match.terms.some(
      ({ field, tests }) =>
        field.kind === 'named' &&
        field.name === 'sig' &&
        tests.some(({ text }) => verdicts.includes(text)),
    ),
  )
  if (about === undefined) return
  throw new SettingError(
    '--expect',
    `Cannot expect "${about.text}": signatures are not checked without a secret`,
    'Pass --secret or set EVROUTE_SECRET.',
  )
}

function endCode(
  judged: ExitCode,
  { wellFormed }: ReceivedCounts,
  {
    count = 0,
    badSignature,
  }: Pick<ListenOptions, 'count'> & { readonly badSignature: AbortSignal },
): ExitCode {
  const end = wellFormed >= count ? judged : exitCodes.expectationUnmet
  return badSignature.aborted ? gravest([end, exitCodes.badSignature]) : end
}

function eventProgram({ onEvent, quiet }: ListenOptions, io: Io): EventProgram | undefined {
  if (onEvent === undefined) return undefined
  const [program, ...args] = onEvent
  const write = (text: string): void => {
    if (!quiet) io.stderr.write(text)
  }
  return new EventProgram({ program, args, env: io.env, write })
}

async function showLast(view: ListenView, { save, last }: ListenOptions): Promise<void> {
  if (save === undefined || last === undefined) return
  let kept: readonly ReceivedEvent[] = []
  for await (const { events } of aboutFile(save, readCapture(await openInput(save)))) {
    kept = [...kept, ...events].slice(-last)
  }
  for (const event of kept) await view.event(event)
}

/** Resolves when all expectations are decided, at the latest at the timeout or when the receiver closes. */
async function judge(
  receiver: Receiver,
  { expectations, timeoutMs = Infinity }: ListenOptions,
): Promise<readonly ExpectationResult[]> {
  const judging = expectations.map(({ text }) => receiver.judge(text, { timeoutMs }))
  return (await Promise.all(judging)).map(({ result }) => result)
}

/** Resolves when everything expected has arrived, at the timeout, or at `stop`. Doesn't wait for answers. */
async function untilEnd(parts: {
  readonly receiver: Receiver
  readonly options: ListenOptions
  readonly stop: AbortSignal
  readonly judging: Promise<unknown>
}): Promise<void> {
  const { receiver, stop, judging } = parts
  const { expectations, timeoutMs } = parts.options
  const { count = expectations.length > 0 ? 0 : Infinity } = parts.options
  const end = new AbortController()
  const timer =
    timeoutMs === undefined ? undefined : systemClock.schedule(timeoutMs, () => end.abort())
  // Ignore a timeout here: the counts and results show it.
  const arrived = receiver.waitFor(count, { timeoutMs }).catch(() => undefined)
  await stoppable(Promise.all([arrived, judging]), AbortSignal.any([stop, end.signal]))
  timer?.cancel()
}

interface ListenAddress extends ReceiverAddress {
  /** The file with the certificate of the test authority; null without one. */
  readonly ca: string | null
}

interface ListenSummary {
  readonly counts: ReceivedCounts
  readonly results: readonly ExpectationResult[]
  readonly durationMs: number
}

type ListenView = ReturnType<typeof textView>

function jsonView(screen: ListenScreen): ListenView {
  const stdout = new DataWriter(screen.io)
  return {
    ready: ({ url, urls, port, ca, pageToken }) => {
      const inspector = inspectorUrl(url, pageToken)
      stdout.record({ kind: 'ready', url, urls, port, inspector, ca, pid: process.pid })
    },
    event: (event) => {
      screen.arrive(event, () => stdout.record(eventRecord(event)))
      return stdout.ready()
    },
    summary: ({ counts, results, durationMs }) => {
      const expectations = results.length === 0 ? {} : { expectations: results.map(resultRecord) }
      stdout.record({ kind: 'summary', ...counts, ...expectations, ms: Math.round(durationMs) })
    },
  }
}

function textView(screen: ListenScreen, options: ListenOptions) {
  const { io } = screen
  const memory = new SummaryMemory()
  const stdout = new DataWriter(io)
  const style = styleOf(io, 'stdout', options.color)
  const aside = styleOf(io, 'stderr', options.color)
  const { verbose, quiet, forwardTo, onEvent, count = 0 } = options
  const passesOn = forwardTo.length > 0 || onEvent !== undefined
  const program = programName(io)
  return {
    ready: (address: ListenAddress): void => {
      if (!quiet) io.stderr.write(banner(address, options, { style: aside, io }))
    },
    event: (event: ReceivedEvent): Promise<void> => {
      const { columns } = io.stdout
      // Format hidden requests too, because later summaries depend on them.
      const text = eventText(event, { style, memory, verbose, columns, passesOn, program })
      screen.arrive(event, () => stdout.write(text))
      return stdout.ready()
    },
    summary: ({ counts, durationMs }: ListenSummary): void => {
      if (quiet) return
      io.stderr.write(`${countsText(counts)} in ${formatDuration(durationMs)}\n`)
      if (counts.wellFormed >= count) return
      const unmet = `--count ${count}: expected at least ${count}, got ${counts.wellFormed}`
      io.stderr.write(`${aside.bad('✖')} ${unmet}\n`)
    },
  }
}

function banner(
  address: ListenAddress,
  options: ListenOptions,
  { style, io }: { readonly style: Style; readonly io: Io },
): string {
  const { secret, strict, host, forwardTo } = options
  const { url, urls, ca, pageToken } = address
  const page = inspectorUrl(url)
  const networkPage = networkPageUrl(url, pageToken)
  const signature =
    secret === undefined
      ? style.warning('not checked; pass --secret')
      : `checked${strict ? '; bad ones are refused with 401' : ''}`
  const lines = [
    ...(urls.length === 1 ? urls : urls.map((url, index) => `${url} @${index + 1}`)).map(
      (url, index) => `${index === 0 ? 'Listening' : '         '}  ${style.strong(url)}`,
    ),
    ...(page === null ? [] : [`Page       ${page}`]),
    ...(networkPage === null ? [] : [`Network    ${networkPage}`]),
    `Signature  ${signature}`,
    ...expectationLines(options, style),
    ...checkForwardTargets(forwardTo).map(
      ({ type, url }) => `Forward    ${type === null ? '' : `${type} to `}${endpointName(url)}`,
    ),
    ...(ca === null ? [] : [`Authority  ${ca}`]),
    ...scenarioLines(options),
    style.faint('Ctrl-C stops it. In another terminal:'),
  ]
  if (!/^(127\.|localhost$|::1$)/.test(host)) {
    lines.unshift(style.warning(`Other machines can reach this receiver: it listens on ${host}`))
  }
  const { columns } = io.stderr
  const wrapped = lines.map((line) => wrapText(line, columns, ' '.repeat('Listening  '.length)))
  // Don't wrap the command, so that it can be pasted.
  const command = style.faint(`  ${sendCommand(address, options, io)}`)
  return `${[...wrapped, command].join('\n')}\n\n`
}

function expectationLines(
  { expectations, timeoutMs }: ListenOptions,
  style: Style,
): readonly string[] {
  return expectations.map(({ text, count, withinMs }) => {
    // A later request can exceed an upper bound, so the expectation stays undecided until the wait ends.
    const isEndless = count.atMost < Infinity && timeoutMs === undefined && withinMs === undefined
    const end = isEndless ? ` ${style.faint('until --timeout or Ctrl-C')}` : ''
    return `Expecting  ${plainText(text)}${end}`
  })
}

function scenarioLines({ scenario }: ListenOptions): readonly string[] {
  if (scenario === undefined) return []
  const { name, rule, expected } = scenario
  return [`Scenario   ${name}: ${rule}`, `           Expected: ${expected.text}.`]
}

/** Returns a command that sends a webhook to this receiver. Only a terminal shows a secret from the command line. */
function sendCommand({ urls, ca }: ListenAddress, options: ListenOptions, io: Io): string {
  const trust = ca === null ? '' : `NODE_EXTRA_CA_CERTS=${ca} `
  const isDefault = urls.length === 1 && `${urls[0] ?? ''}/` === defaultUrl
  const to = isDefault ? '' : urls.map((url) => ` --to ${url}`).join('')
  const { secretGiven } = options
  const isTerminal = io.stderr.isTTY === true
  const signed = secretGiven === undefined ? '' : ` --secret ${secretWord(secretGiven, isTerminal)}`
  return `${trust}${programName(io)} send track${to}${signed}${scenarioFlags(options)}`
}

function scenarioFlags({ scenario }: ListenOptions): string {
  if (scenario === undefined) return ''
  const count = scenario.webhooks === 1 ? '' : ` --count ${scenario.webhooks}`
  return `${count} --retry-for 4h --clock virtual`
}

/** Saves a certificate for NODE_EXTRA_CA_CERTS, so that senders trust the authority. Throws `cannot_write_file`. */
async function saveAuthority(authority: string) {
  try {
    const folder = await mkdtemp(join(tmpdir(), 'evroute-authority-'))
    const path = join(folder, 'authority.pem')
    await writeFile(path, authority)
    const remove = (): void => {
      process.off('exit', remove)
      rmSync(folder, { recursive: true, force: true })
    }
    // Remove the file even if a second signal or an error ends the process at once.
    process.once('exit', remove)
    return { path, [Symbol.dispose]: remove }
  } catch (error) {
    const hint = 'Set TMPDIR to a writable folder.'
    throw cannotWrite('Cannot save the certificate of the test authority', hint, error)
  }
}
