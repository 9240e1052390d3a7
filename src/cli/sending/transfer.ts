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
import { isOutputClosed } from '../code-of-end.ts'
import { exitCodeOf, exitCodes, gravest, type ExitCode } from '../exit-code.ts'
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

/** What a transfer is made of. */
export interface TransferOptions {
  /** Streams and the signal to end early. */
  readonly io: Io
  /** Where and how to send. */
  readonly options: SendingOptions
  /** What to send. */
  readonly rows: AsyncIterable<RowGroup>
  /** Rows per second at the most; as fast as possible when undefined. */
  readonly ratePerSecond?: number | undefined
  /** Rows that were passed over so far; undefined where none can be. */
  readonly skipped?: (() => number) | undefined
}

/** A row, and where it stands. */
interface PlacedRow {
  readonly row: Row
  readonly place: RowPlace
}

/** Sends every row, tells what happens, and ends with the books and the exit code they deserve. */
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

/** What sending is done with. */
interface Sending extends TransferOptions {
  readonly clock: Clock
  readonly report: Report
  readonly counts: RowCounts
  readonly outlet: Outlet
}

/** An error that the user was told of; one of ours leaves undone what was taken. */
interface TransferError {
  readonly error: unknown
  readonly isOurs: boolean
}

/**
 * Resolves once every row that could be read came to its end, nothing more can be done, or the
 * command is to end early.
 *
 * @returns what went wrong on the way
 * @throws whatever kept the first row from being read: nothing has happened then
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
 * Gives the rows one by one; a virtual clock stands still while they are read. Before each group the
 * event loop turns, so that signals are heard however fast rows come.
 *
 * @param unreadable - is told why the rows end before their end
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

/** What the books and the way the command ended are worth. */
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
  // What is a duplicate now may be what was not delivered then.
  if (ledger.duplicate > 0 && outlet.hasFailedBefore === true) {
    const how = `see ${commandForUndelivered(options.store, outlet)}`
    report.note(`Deliveries of earlier runs to the same --to failed or expired; ${how}`)
    codes.push(exitCodes.deliveryFailed)
  }
  if (ledger.rejected > 0) codes.push(exitCodes.badInput)
  return gravest(codes)
}

/** What becomes of deliveries that a command leaves behind. */
function whereTheyStay({ storeName }: Outlet): string {
  if (storeName === undefined) return ''
  const next = 'the next `send` or `replay` to the same --to with this --store goes on with them'
  return `; they stay in ${storeName}, and ${next}`
}

/** It can be run as it stands, where nothing of the URL has to be kept from the screen. */
function commandForUndelivered(store: string | undefined, { storeName }: Outlet): string {
  const states = '--state failed --state expired'
  return store !== undefined && storeName === store
    ? `\`evroute deliveries --store ${store} ${states}\``
    : `\`evroute deliveries ${states}\` with this --store`
}

/** What was read and is not in a store was not taken, and is no part of its books. */
function booksOfCut(
  { options }: TransferOptions,
  counts: RowCounts,
  stored: OutletLedger,
): OutletLedger & Ledger {
  return options.store === undefined ? counts.booksOfCut(stored) : counts.booksOfStore(stored)
}
