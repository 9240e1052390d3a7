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

/** What a command works with that shows how far it is. */
interface WorkRun {
  /** Streams, environment and the signal to end early. */
  readonly io: Io
  /** NDJSON records instead of text. */
  readonly json: boolean
  /** How text on stdout is set apart. */
  readonly style: Style
  /** The width of stdout; undefined where lines may be of any length. */
  readonly columns: number | undefined
  /** Data goes there. */
  readonly stdout: DataWriter
  /** Tells a person what happens. */
  readonly report: Report
  /** Says what is shown of the work while it is under way. */
  readonly showProgress: (parts: () => readonly string[]) => void
  /** The time since the command began, in milliseconds. */
  readonly elapsedMs: () => number
}

/** What a command that changes audiences, or tries to, works with. */
export type AudiencesRun = OpenedAudiences & WorkRun

/** What a command that changes audiences or regulations works with. */
export type OperationsRun = OpenedOperations & WorkRun

/** What a command is called with. */
interface CalledCommand {
  readonly flags: OperationsFlags
  readonly context: CommandContext
}

/** What is told of a delivery that cannot be made for now. */
const retryNote =
  'It is tried again, as long as its destination says; Ctrl-C leaves the rest in the store'
const farFutureMs = Number.MAX_SAFE_INTEGER

/**
 * Finds who does the work that the flags ask for, does it, and ends the command.
 *
 * @throws SettingError for flags that exclude each other; EvrouteError where nobody can do it
 */
export async function runOperations(
  called: CalledCommand,
  work: (run: OperationsRun) => Promise<ExitCode>,
): Promise<void> {
  await runWith(called, withOperations, work)
}

/**
 * Finds who does the dry run that the flags ask for, does it, and ends the command. It delivers nothing.
 *
 * @throws SettingError for flags that exclude each other; EvrouteError where nobody can do it
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

/** Resolves once whoever reads stdout has caught up. */
export async function drained({ report, stdout }: WorkRun): Promise<void> {
  await Promise.all([report.ready(), stdout.ready()])
}

/**
 * Delivers and erases all that can be done now, tells the books, and says what they are worth. Where a
 * running service does that it is only told so.
 *
 * @param tellMore - tells what was done, before the books
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
    // What is read here is counted elsewhere: a program finds the calls that were made of it.
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

/** @returns the codes of what went wrong on the way */
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
