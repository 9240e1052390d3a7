import { imbalances, plainText, type DeliveryLedger } from '../../model/index.ts'
import { createRuntime, stopwatch } from '../../runtime/index.ts'
import { storeName } from '../../store/index.ts'
import { codeOfEnd } from '../code-of-end.ts'
import type { CommandContext } from '../command.ts'
import { exitCodeOf, exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import { DataWriter, stoppable, type Io } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { stopGraceMs } from '../sending/outlet.ts'
import { Report } from '../sending/report.ts'
import { namingColumnFlag } from './column-flags.ts'
import { DeliveryWatch } from './delivery-watch.ts'
import {
  withOperations,
  type OfflineWork,
  type OpenedAudiences,
  type OpenedOperations,
  type OperationsParts,
} from './open-operations.ts'
import { withPreviews } from './open-previews.ts'
import {
  readOperationsPlace,
  type OperationsFlags,
  type OperationsPlace,
} from './operations-flags.ts'

/** The context of a command that shows progress. */
interface WorkRun {
  /** Streams, environment and stop signal. */
  readonly io: Io
  /** NDJSON records instead of text. */
  readonly json: boolean
  /** The style of text on stdout. */
  readonly style: Style
  /** The width of stdout; undefined if lines may have any length. */
  readonly columns: number | undefined
  readonly stdout: DataWriter
  /** Shows problems and notes to the user. */
  readonly report: Report
  /** Sets the text of the progress line. */
  readonly showProgress: (parts: () => readonly string[]) => void
  /** Milliseconds since the command began. */
  readonly elapsedMs: () => number
}

/** The context of a command that changes audiences, or previews a change. */
export type AudiencesRun = OpenedAudiences & WorkRun

/** The context of a command that changes audiences or regulations. */
export type OperationsRun = OpenedOperations & WorkRun

/** A command with its flags. */
interface CalledCommand {
  readonly flags: OperationsFlags
  readonly context: CommandContext
}

/** The note on deliveries that will be retried. */
const retryNote =
  'It is tried again, as long as its destination says; Ctrl-C leaves the rest in the store'
const farFutureMs = Number.MAX_SAFE_INTEGER

/**
 * Opens the operations that the flags name, runs the work, and sets the exit code.
 *
 * @throws SettingError for flags that exclude each other; EvrouteError if no place can do the work
 */
export async function runOperations(
  called: CalledCommand,
  work: (run: OperationsRun) => Promise<ExitCode>,
): Promise<void> {
  await runWith(called, withOperations, work)
}

/**
 * Opens the operations for a dry run, runs it, and sets the exit code. It delivers nothing.
 *
 * @throws SettingError for flags that exclude each other; EvrouteError if no place can do the work
 */
export async function runPreview(
  called: CalledCommand,
  work: (run: AudiencesRun) => Promise<ExitCode>,
): Promise<void> {
  await runWith(called, withPreviews, work)
}

async function runWith<Opened>(
  { flags, context: { io, end } }: CalledCommand,
  open: (
    place: OperationsPlace,
    parts: OperationsParts,
    work: (opened: Opened) => Promise<ExitCode>,
  ) => Promise<ExitCode>,
  work: (run: Opened & WorkRun) => Promise<ExitCode>,
): Promise<void> {
  const place = await readOperationsPlace(flags, io)
  const { json = false, color } = flags
  const elapsedMs = stopwatch()
  const look = { json, color, quiet: false, verbose: false, retryForMs: farFutureMs, retryNote }
  const report = await Report.open(io, look, elapsedMs)
  const style = await createStyle(wantsColor(io, io.stdout, color))
  const watch = new DeliveryWatch(json ? undefined : report)
  const runtime = createRuntime({ log: report.log, observer: watch })
  let parts = (): readonly string[] => []
  try {
    const code = await open(place, { io, runtime, json }, (opened) => {
      report.begin(() => [...parts(), ...watch.progress].join(' · '))
      return work({
        ...opened,
        io,
        json,
        style,
        columns: io.stdout.isTTY === true ? io.stdout.columns : undefined,
        stdout: new DataWriter(io),
        report,
        showProgress: (shown) => (parts = shown),
        elapsedMs,
      })
    })
    end(code)
  } catch (error) {
    throw namingColumnFlag(error)
  } finally {
    report.close()
  }
}

/** Resolves when the reader of stdout has caught up. */
export async function drained({ report, stdout }: WorkRun): Promise<void> {
  await Promise.all([report.ready(), stdout.ready()])
}

/**
 * Delivers and erases everything that is possible now, prints the summary, and returns the exit code. If a
 * running service does the work, only tells the user so.
 *
 * @param tellMore - reports more before the summary
 */
export async function finishWork(
  run: AudiencesRun,
  tellMore: () => Promise<ExitCode> = () => Promise.resolve(exitCodes.ok),
): Promise<ExitCode> {
  const { offline, io, report, json, elapsedMs } = run
  if (offline === undefined) {
    report.close()
    if (!json && !io.stop.aborted) report.note('The service delivers.')
    return codeOfEnd(io)
  }
  const codes = [...(await deliver(offline, run)), await tellMore()]
  const books = await offline.service.ledger()
  const { accepted, ...others } = books
  const counted = { read: accepted, accepted, rejected: 0, ...others }
  report.summary({
    // Records always have `read` and `rejected`. Here `read` counts the calls that this command made.
    ledger: json ? counted : books,
    durationMs: elapsedMs(),
    skipped: undefined,
  })
  for (const { equation } of imbalances(counted)) {
    report.note(`The counts do not balance: ${equation}. This is a fault of evroute`)
    codes.push(exitCodes.internal)
  }
  return gravest([...codes, verdict(books, offline, run)])
}

/** @returns the exit codes of the errors */
async function deliver(
  { service }: OfflineWork,
  { io, report }: WorkRun,
): Promise<readonly ExitCode[]> {
  try {
    if (!io.stop.aborted) await stoppable(service.idle(), io.stop)
    if (io.stop.aborted) await service.stop(stopGraceMs)
    return []
  } catch (error) {
    report.failure(error)
    return [exitCodeOf(error)]
  }
}

function verdict(
  { pending, deliveries, failed, expired }: DeliveryLedger,
  { storeUrl }: OfflineWork,
  { io, report }: WorkRun,
): ExitCode {
  const end = codeOfEnd(io)
  if (io.stop.aborted && end === exitCodes.ok) return end
  if (pending > 0) {
    const how = io.stop.aborted ? 'Interrupted: ' : ''
    const open = `${formatCount(pending)} of ${formatCount(deliveries)} deliveries`
    report.note(
      `${how}${open} were not made; they stay in ${plainText(storeName(storeUrl))}, and the next such command or ` +
        '`evroute serve` goes on with them',
    )
  }
  const isOpen = pending + failed + expired > 0
  return gravest([end, ...(isOpen ? [exitCodes.deliveryFailed] : [])])
}
