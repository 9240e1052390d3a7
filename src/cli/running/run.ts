import { once } from 'node:events'
import { constants } from 'node:os'
import { ExpectationTracker, parseExpectation, type NumberedSubject } from '../../match/index.ts'
import { formatDuration, SettingError } from '../../model/index.ts'
import { SummaryMemory } from '../../receiver/index.ts'
import { sleep, stopwatch, systemClock } from '../../runtime/index.ts'
import type { RunValues } from '../commands/run.ts'
import { exitCodes } from '../exit-code.ts'
import { reportResults, writeReports } from '../expecting/report-results.ts'
import type { Io } from '../io.ts'
import { openCapture } from '../listening/capture.ts'
import { countsText, eventText } from '../listening/event-text.ts'
import { inspectorUrl } from '../listening/inspector-page.ts'
import { junitXml, type Report, type ReportCase } from '../output/ci-report.ts'
import { programName } from '../output/command-line.ts'
import { usageError } from '../output/error.ts'
import { formatCount } from '../output/numbers.ts'
import { styleOf, type Style } from '../output/style.ts'
import { readSecret } from '../secret.ts'
import { Child } from './child.ts'
import { openTestBed, type TestBed } from './test-bed.ts'

type RunOptions = Awaited<ReturnType<typeof readOptions>>

interface Run {
  readonly options: RunOptions
  readonly io: Io
  readonly style: Style
  readonly bed: TestBed
  readonly trackers: readonly ExpectationTracker<NumberedSubject>[]
}

const lookMs = 20
/** After this time without a request, no more are expected. */
const quietMs = 100

/**
 * Runs a command beside a receiver, and with `--serve` a service. Then waits for the expected requests. Leaves no
 * processes and no open ports behind. Returns the command's exit code; 5 if that is 0 but a check failed.
 */
export async function run(values: RunValues, words: readonly string[], io: Io): Promise<number> {
  const options = await readOptions(values, words, io)
  const style = styleOf(io, 'stderr', options.color)
  // Write a first report now, so that an unwritable file ends the run early. The report stays if the run is cut off.
  await writeReports(options.reports, junitXml(cutOff))
  const memory = new SummaryMemory()
  const capture = options.save === undefined ? undefined : await openCapture(options.save)
  try {
    await using bed = await openTestBed(options)
    const startedAtMs = systemClock.nowMs()
    const trackers = options.expectations.map(
      (each) => new ExpectationTracker<NumberedSubject>(each, startedAtMs),
    )
    bed.receiver.on('event', (event) => {
      for (const tracker of trackers) tracker.observe(event)
      const view = { style, memory, verbose: false, columns: io.stderr.columns }
      if (options.verbose) io.stderr.write(eventText(event, { ...view, program: programName(io) }))
      return capture?.append(event)
    })
    return await runOn({ options, io, style, bed, trackers })
  } finally {
    await capture?.close()
  }
}

const title = 'evroute run'

const cutOff: Report = {
  title,
  durationMs: 0,
  cases: [
    {
      name: 'the run has ended',
      failure: { type: 'cut_off', message: 'it did not end', detail: 'Nothing was checked.' },
    },
  ],
}

async function readOptions(values: RunValues, [program, ...args]: readonly string[], io: Io) {
  if (program === undefined) {
    throw usageError(
      'No command given',
      `Put it after --, as in: ${programName(io)} run -- npm test`,
    )
  }
  if (values.json) {
    throw new SettingError(
      '--json',
      'Cannot use --json together with a command: stdout belongs to the command',
      'Pass --save <file> to record the webhooks that arrive.',
    )
  }
  const virtualClock = values.clock === 'virtual'
  if (virtualClock && !values.serve) {
    throw new SettingError(
      '--clock',
      'Cannot use --clock virtual without --serve: only a service retries deliveries',
      'Add --serve, or leave --clock out.',
    )
  }
  const { expect = [], count } = values
  const expectations = expect.map((text) => parseExpectation(text))
  if (count !== undefined) {
    // `--count` counts well-formed requests: only they have a type.
    const counted = parseExpectation(`has:type x${count}..`)
    expectations.push({ ...counted, text: `--count ${count}` })
  }
  const secret = await readSecret(values.secret, io)
  return { ...values, virtualClock, program, args, secret, expectations }
}

async function runOn({ options, io, style, bed, trackers }: Run): Promise<number> {
  const { program, args, quiet } = options
  const { environment, receiver } = bed
  const elapsedMs = stopwatch()
  // Stdout belongs to the command.
  const print = (text: string): void => void io.stderr.write(`${text}\n`)
  const note = (text: string): void => (quiet ? undefined : print(text))
  note(addressesText(environment, options, style))
  const child = await Child.start({ program, args, env: { ...io.env, ...environment } })
  const endPassing = passSignalsOn(child, io)
  try {
    const code = await child.ended
    bed.commandEnded()
    // A command that failed has already said why, so don't wait for missing requests.
    const pending = code === 0 ? await pendingAtEnd({ options, io, bed, trackers }) : 0
    if (code === 0 && io.interrupted.aborted) return exitCodes.interrupted
    // Requests in progress at the timeout have arrived, so they count.
    await (options.hold ? bed.closeService() : bed.close())
    const cases = [...exitCases(code), ...pendingCases(pending, options)]
    const durationMs = elapsedMs()
    const resultsView = { ...options, title, durationMs, json: false, cases }
    note(`${countsText(receiver.counts)} in ${formatDuration(durationMs)}`)
    if (options.allowPending && pending > 0) {
      note(`Deliveries still pending: ${formatCount(pending)}`)
    }
    const expected = await reportResults(
      trackers.map((tracker) => tracker.result()),
      resultsView,
      io,
    )
    const end = code === 0 ? expected : code
    if (options.hold && end !== exitCodes.ok) {
      print(`${pageText(environment)}  shows what arrived. Press Ctrl-C to stop.`)
      if (!io.interrupted.aborted) await once(io.interrupted, 'abort')
    }
    return end
  } finally {
    endPassing()
    await child.endLeftovers()
  }
}

/** Returns a failed check if the command failed. */
function exitCases(code: number): readonly ReportCase[] {
  if (code === 0) return []
  const [signal] = Object.entries(constants.signals).find(([, each]) => each + 128 === code) ?? []
  const message = `ended with exit code ${code}${signal === undefined ? '' : ` (${signal})`}`
  return [
    {
      name: 'the command',
      failure: { type: 'exit_code', message, detail: 'Its output says why.' },
    },
  ]
}

/** Returns a failed check if deliveries are pending, because later retries would change the counts. */
function pendingCases(pending: number, { allowPending }: RunOptions): readonly ReportCase[] {
  if (pending === 0 || allowPending) return []
  const message = `expected none, got ${formatCount(pending)}`
  const detail =
    'A pending delivery is being sent, or is waiting for a retry. Pass --clock virtual so that retries\n' +
    'take no time, wait longer with --timeout, or accept pending deliveries with --allow-pending.'
  return [{ name: 'no delivery is pending', failure: { type: 'pending', message, detail } }]
}

function passSignalsOn(child: Child, { interrupted, onHangUp, onSuspend }: Io): () => void {
  const pass = (): void => void child.signal(interrupted.reason as NodeJS.Signals)
  if (interrupted.aborted) pass()
  interrupted.addEventListener('abort', pass, { once: true })
  const endHangUps = onHangUp?.(() => child.signal('SIGHUP'))
  // Send SIGSTOP: the command does not control the terminal, so SIGTSTP would not stop it.
  const endSuspensions = onSuspend?.(
    () => child.signal('SIGSTOP'),
    () => child.signal('SIGCONT'),
  )
  return () => {
    interrupted.removeEventListener('abort', pass)
    endHangUps?.()
    endSuspensions?.()
  }
}

/** Waits until nothing is missing or in progress, or the time is up. Returns the number of unsettled deliveries. */
async function pendingAtEnd(run: Omit<Run, 'style'>): Promise<number> {
  const { bed, trackers } = run
  const { interrupted } = run.io
  const waitedMs = stopwatch()
  let quietForMs = stopwatch()
  const endListening = bed.receiver.on('event', () => (quietForMs = stopwatch()))
  const isOver = async (): Promise<boolean> => {
    if ((await bed.pending()) > 0 || bed.receiver.underWay > 0) return false
    const states = trackers.map((tracker) => tracker.stateAt(systemClock.nowMs()))
    if (states.includes('missing')) return false
    return !states.includes('satisfied') || quietForMs() >= quietMs
  }
  while (!(await isOver()) && !interrupted.aborted && waitedMs() < run.options.timeoutMs) {
    await sleep(systemClock, lookMs, interrupted)
  }
  endListening()
  return bed.pending()
}

function addressesText(
  environment: TestBed['environment'],
  { page }: RunOptions,
  style: Style,
): string {
  const { EVROUTE_URL, EVROUTE_ENDPOINT } = environment
  const lines = [`Receiver  ${EVROUTE_URL}  ${style.faint('EVROUTE_URL, EVROUTE_SECRET')}`]
  if (page) lines.push(pageText(environment))
  if (EVROUTE_ENDPOINT !== undefined) {
    const names = style.faint('EVROUTE_ENDPOINT, EVROUTE_WRITE_KEY')
    lines.push(`Service   ${EVROUTE_ENDPOINT}  ${names}`)
  }
  return lines.join('\n')
}

function pageText({ EVROUTE_URL }: TestBed['environment']): string {
  return `Page      ${inspectorUrl(EVROUTE_URL) ?? ''}`
}
