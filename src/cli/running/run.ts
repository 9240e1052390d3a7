import { once } from 'node:events'
import {
  expectationResult,
  ExpectationTracker,
  type Expectation,
  type ExpectationResult,
  type NumberedSubject,
} from '../../match/index.ts'
import { sleep, stopwatch, systemClock } from '../../runtime/index.ts'
import type { RunValues } from '../commands/run.ts'
import { exitCodes } from '../exit-code.ts'
import { reportResults } from '../expecting/report-results.ts'
import type { Io } from '../io.ts'
import { Capture } from '../listening/capture.ts'
import type { ReportCase } from '../output/ci-report.ts'
import { formatCount } from '../output/numbers.ts'
import { Child } from './child.ts'
import { openRunView, type RunView, type RunViewOptions } from './run-view.ts'
import { openTestBed, type TestBed, type TestBedOptions } from './test-bed.ts'

/** The checked options of `evroute run`. */
export interface RunOptions
  extends
    TestBedOptions,
    RunViewOptions,
    Pick<RunValues, 'reports' | 'timeoutMs' | 'allowPending' | 'hold' | 'save'> {
  readonly command: readonly [program: string, ...args: string[]]
  readonly expectations: readonly Expectation[]
}

interface Run {
  readonly options: RunOptions
  readonly io: Io
  readonly view: RunView
  readonly bed: TestBed
  readonly awaited: AwaitedRequests
}

const lookMs = 20
/** After this time without a request, no more are expected. */
const quietMs = 100

/**
 * Runs a command beside a receiver, and with `serve` a service, then waits for the expected requests. Leaves
 * no processes and no open ports behind.
 *
 * @returns the exit code of the command; if that is 0, whether the expectations were met
 */
export async function run(options: RunOptions, io: Io): Promise<number> {
  const view = await openRunView(options, io)
  const capture = options.save === undefined ? undefined : await Capture.open(options.save)
  try {
    await using bed = await openTestBed(options)
    const awaited = new AwaitedRequests(options.expectations, systemClock.nowMs())
    bed.receiver.on('event', (event) => {
      awaited.observe(event)
      view.event(event)
      return capture?.append(event)
    })
    return await runOn({ options, io, view, bed, awaited })
  } finally {
    await capture?.close()
  }
}

async function runOn({ options, io, view, bed, awaited }: Run): Promise<number> {
  const [program, ...args] = options.command
  const { environment, receiver } = bed
  const elapsedMs = stopwatch()
  view.ready(environment)
  const child = await Child.start({ program, args, env: { ...io.env, ...environment } })
  const endPassing = passSignalsOn(child, io)
  try {
    const code = await child.ended
    bed.commandEnded()
    // A command that failed has already said why, so don't wait for missing requests.
    if (code === 0) await untilAllCame({ options, io, bed, awaited })
    if (code === 0 && io.interrupted.aborted) return exitCodes.interrupted
    const pending = code === 0 ? await bed.pending() : 0
    // A request in progress at the timeout has arrived and counts.
    await (options.hold ? bed.closeService() : bed.close())
    const cases = pending > 0 && !options.allowPending ? [pendingCase(pending)] : []
    const durationMs = elapsedMs()
    const resultsView = { ...options, title: 'evroute run', durationMs, json: false, cases }
    view.summary(receiver.counts, durationMs)
    if (options.allowPending) view.pending(pending)
    const expected = await reportResults(awaited.results(), resultsView, io)
    const end = code === 0 ? expected : code
    if (options.hold && end !== exitCodes.ok) await held(view, bed, io)
    return end
  } finally {
    endPassing()
    await child.endLeftovers()
  }
}

async function held(view: RunView, { receiver }: TestBed, { interrupted }: Io): Promise<void> {
  view.held((await receiver.start()).url)
  if (!interrupted.aborted) await once(interrupted, 'abort')
}

/** Fails the run if deliveries are pending, because a later retry would change the counts. */
function pendingCase(pending: number): ReportCase {
  return {
    name: 'no delivery is pending',
    failure: {
      type: 'pending',
      message: `expected none, got ${formatCount(pending)}`,
      detail:
        'It is being sent, or is waiting for a retry. Pass --clock virtual so that retries take\n' +
        'no time, wait longer with --timeout, or accept it with --allow-pending.',
    },
  }
}

/** Signals are meant for the command too. */
function passSignalsOn(child: Child, { interrupted, onHangUp, onSuspend }: Io): () => void {
  const pass = (): void => child.signal(interrupted.reason as NodeJS.Signals)
  if (interrupted.aborted) pass()
  interrupted.addEventListener('abort', pass, { once: true })
  const endHangUps = onHangUp?.(() => child.signal('SIGHUP'))
  // SIGTSTP would not stop the command: it does not control the terminal.
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

/** Resolves when nothing is missing or in progress, at the timeout, or on a signal. */
async function untilAllCame({
  options: { timeoutMs },
  io: { interrupted },
  bed,
  awaited,
}: Omit<Run, 'view'>): Promise<void> {
  const waitedMs = stopwatch()
  let quietForMs = stopwatch()
  const endListening = bed.receiver.on('event', () => (quietForMs = stopwatch()))
  const isOver = async (): Promise<boolean> => {
    if ((await bed.pending()) > 0 || bed.receiver.underWay > 0) return false
    const state = awaited.stateAt(systemClock.nowMs())
    return state === 'decided' || (state === 'satisfied' && quietForMs() >= quietMs)
  }
  while (!(await isOver()) && !interrupted.aborted && waitedMs() < timeoutMs) {
    await sleep(systemClock, lookMs, interrupted)
  }
  endListening()
}

/** Tracks all expectations of a run. */
export class AwaitedRequests {
  readonly #trackers: readonly ExpectationTracker<NumberedSubject>[]

  constructor(expectations: readonly Expectation[], startedAtMs: number) {
    this.#trackers = expectations.map((each) => new ExpectationTracker(each, startedAtMs))
  }

  /** Counts a request that arrived. */
  observe(event: NumberedSubject): void {
    for (const tracker of this.#trackers) tracker.observe(event)
  }

  /**
   * Returns the state of all expectations together:
   *
   * - `missing`: something that may still arrive is missing;
   * - `satisfied`: nothing is missing, but too much may still arrive;
   * - `decided`: further requests change nothing.
   */
  stateAt(nowMs: number): 'missing' | 'satisfied' | 'decided' {
    const states = this.#trackers.map((tracker) => tracker.stateAt(nowMs))
    const open = states.filter((state) => state.kind === 'open')
    if (open.some(({ isSatisfied }) => !isSatisfied)) return 'missing'
    return open.length > 0 ? 'satisfied' : 'decided'
  }

  /** Returns the results once the wait has ended. */
  results(): readonly ExpectationResult[] {
    return this.#trackers.map((tracker) => expectationResult(tracker))
  }
}
