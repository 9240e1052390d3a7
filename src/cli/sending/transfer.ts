import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Row } from '../../importer/index.ts'
import { imbalances, type Ledger, type Rejection } from '../../model/index.ts'
import {
  createRuntime,
  stopwatch,
  systemClock,
  VirtualClock,
  type Clock,
} from '../../runtime/index.ts'
import { isOutputClosed, exitCodeOf, exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import { stoppable, type Io } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import type { RowPlace } from './call-queue.ts'
import { openOutlet } from './open-outlet.ts'
import type { Outlet, OutletLedger } from './outlet.ts'
import { Pace } from './pace.ts'
import { Report } from './report.ts'
import { RowCounts } from './row-counts.ts'
import type { RowGroup } from './row-source.ts'
import type { SendingOptions } from './sending-options.ts'
import { StoppableClock } from './stoppable-clock.ts'

/** The parameters of {@link transfer}. */
export interface TransferOptions {
  /** Streams and stop signal. */
  readonly io: Io
  readonly options: SendingOptions
  readonly rows: AsyncIterable<RowGroup>
  /** Maximum rate in rows per second; undefined for no limit. */
  readonly ratePerSecond?: number | undefined
  /** Rows skipped so far; undefined if the command skips none. */
  readonly skipped?: (() => number) | undefined
}

/** A row and its position. */
interface PlacedRow {
  readonly row: Row
  readonly place: RowPlace
}

/** Sends every row, reports the progress, and ends with the summary and the exit code. */
export async function transfer(request: TransferOptions): Promise<ExitCode> {
  const { io, options, skipped } = request
  const elapsedMs = stopwatch()
  const clock = options.virtualClock ? virtualClock(io) : systemClock
  const report = await Report.open(io, options, elapsedMs)
  const runtime = createRuntime({ clock, log: report.log, observer: report })
  const counts = new RowCounts()
  const listener = {
    rejected: (place: RowPlace, rejection: Rejection): void => {
      counts.wasRejected()
      report.rejected(place, rejection)
    },
    acknowledged: () => report.acknowledged(),
    retrying: report.retrying.bind(report),
    failed: report.failed.bind(report),
  }
  const outlet = await openOutlet({ options, runtime, listener }, (plan) => report.planned(plan))
  report.begin()
  try {
    const errors = await sendAll({ ...request, clock, report, counts, outlet })
    const isCut = io.stop.aborted || errors.some(({ isOurs }) => isOurs)
    if (isCut) await outlet.stop()
    const stored = await outlet.ledger()
    const ledger = isCut ? booksOfCut(request, counts, stored) : counts.books(stored)
    report.summary({ ledger, durationMs: elapsedMs(), skipped: skipped?.() })
    const codes = errors.map(({ error }) => exitCodeOf(error))
    return gravest([...codes, verdict({ ledger, report, stop: io.stop, options, outlet })])
  } finally {
    report.close()
    await outlet.close()
  }
}

function virtualClock({ stop }: Io): Clock {
  return new StoppableClock(new VirtualClock(systemClock.nowMs()), stop)
}

interface Sending extends TransferOptions {
  readonly clock: Clock
  readonly report: Report
  readonly counts: RowCounts
  readonly outlet: Outlet
}

/** An error that was reported. `isOurs`: it does not come from the input, so accepted rows may be unfinished. */
interface TransferError {
  readonly error: unknown
  readonly isOurs: boolean
}

/**
 * Resolves when every readable row is done, nothing more can be done, or the command must end early.
 *
 * @returns the errors on the way
 * @throws any error before the first row was read; then nothing has happened
 */
async function sendAll(sending: Sending): Promise<readonly TransferError[]> {
  const { io, report, counts, outlet } = sending
  const errors: TransferError[] = []
  const tell = (error: unknown, isOurs: boolean): void => {
    errors.push({ error, isOurs })
    report.failure(error)
  }
  const rows = eachRow(sending, (error) => {
    if (counts.read === 0) throw error
    tell(error, false)
  })
  try {
    await stoppable(
      offerAll(rows, sending).then(() => (io.stop.aborted ? undefined : outlet.finish())),
      io.stop,
    )
  } catch (error) {
    if (counts.read === 0) throw error
    tell(error, true)
  }
  return errors
}

async function offerAll(rows: AsyncIterable<PlacedRow>, sending: Sending): Promise<void> {
  const { io, clock, report, counts, outlet, ratePerSecond = Infinity } = sending
  const pace = new Pace(clock, ratePerSecond)
  for await (const { row, place } of rows) {
    await pace.turn(io.stop)
    if (io.stop.aborted) return
    counts.wasRead()
    const result = row.kind === 'bad' ? row : await outlet.offer(row.value, place)
    if (result.kind === 'bad' || result.kind === 'rejected') {
      counts.wasRejected()
      report.rejected(place, result)
    }
    await report.ready()
  }
}

/**
 * Yields rows one by one. A virtual clock stands still while they are read. The event loop turns before each
 * group, so that signals are handled.
 *
 * @param unreadable - called with the error that ends the rows early
 */
async function* eachRow(
  { rows, clock, io }: TransferOptions & { readonly clock: Clock },
  unreadable: (error: unknown) => void,
): AsyncGenerator<PlacedRow> {
  const groups = rows[Symbol.asyncIterator]()
  try {
    for (;;) {
      const release = clock.hold()
      await nextTurn()
      const group = await stoppable(groups.next(), io.stop).finally(release)
      if (group === undefined || group.done === true) return
      const { file, rows } = group.value
      for (const row of rows) yield { row, place: { file, line: row.line } }
    }
  } catch (error) {
    unreadable(error)
  } finally {
    await groups.return?.()
  }
}

/** The exit code, from the ledger and the way the command ended. Prints notes about problems. */
function verdict(end: {
  readonly ledger: OutletLedger & Ledger
  readonly report: Report
  readonly stop: AbortSignal
  readonly options: SendingOptions
  readonly outlet: Outlet
}): ExitCode {
  const { ledger, report, stop, options, outlet } = end
  const codes: ExitCode[] = []
  for (const { equation } of imbalances(ledger)) {
    report.note(`The counts do not balance: ${equation}. This is a fault of evroute`)
    codes.push(exitCodes.internal)
  }
  if (stop.aborted) {
    if (isOutputClosed({ stop })) return gravest(codes)
    const open = `${formatCount(ledger.pending)} of ${formatCount(ledger.deliveries)}`
    report.note(`Interrupted: ${open} deliveries were not made${whereTheyStay(outlet)}`)
    codes.push(exitCodes.interrupted)
  }
  if (ledger.failed + ledger.expired > 0) codes.push(exitCodes.deliveryFailed)
  if (ledger.pending > 0 && !stop.aborted) {
    const waiting = `${formatCount(ledger.pending)} of ${formatCount(ledger.deliveries)}`
    report.note(`${waiting} deliveries could not be made now${whereTheyStay(outlet)}`)
    codes.push(exitCodes.deliveryFailed)
  }
  // A duplicate may have failed in the earlier run.
  if (ledger.duplicate > 0 && outlet.hasFailedBefore === true) {
    const how = `see ${commandForUndelivered(options.store, outlet)}`
    report.note(`Deliveries of earlier runs to the same --to failed or expired; ${how}`)
    codes.push(exitCodes.deliveryFailed)
  }
  if (ledger.rejected > 0) codes.push(exitCodes.badInput)
  return gravest(codes)
}

/** Where deliveries stay when the command ends before them. */
function whereTheyStay({ storeName }: Outlet): string {
  if (storeName === undefined) return ''
  const next = 'the next `send` or `replay` to the same --to with this --store goes on with them'
  return `; they stay in ${storeName}, and ${next}`
}

/** A command line that can be copied, unless the store URL must be kept secret. */
function commandForUndelivered(store: string | undefined, { storeName }: Outlet): string {
  const states = '--state failed --state expired'
  return store !== undefined && storeName === store
    ? `\`evroute deliveries --store ${store} ${states}\``
    : `\`evroute deliveries ${states}\` with this --store`
}

/** The ledger of an interrupted transfer. With a durable store, only rows in the store count. */
function booksOfCut(
  { options }: TransferOptions,
  counts: RowCounts,
  stored: OutletLedger,
): OutletLedger & Ledger {
  return options.store === undefined ? counts.booksOfCut(stored) : counts.booksOfStore(stored)
}
