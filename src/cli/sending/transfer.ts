import { setImmediate as nextTurn } from 'node:timers/promises'
import { checkParsedCall } from '../../intake/index.ts'
import { endpointName, imbalances, type JsonObject, type Ledger } from '../../model/index.ts'
import {
  createRuntime,
  stoppable,
  stopwatch,
  systemClock,
  VirtualClock,
  type Runtime,
} from '../../runtime/index.ts'
import { isOutputClosed, exitCodeOf, exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { programName } from '../output/command-line.ts'
import { countOf, formatCount } from '../output/numbers.ts'
import { callIn, isCapturedRow, readCapturedRequest } from './captured-request.ts'
import {
  readDeletion,
  type OfferResult,
  type RejectedRow,
  type RowPosition,
  type Outlet,
  type OutletLedger,
  type OutletParts,
} from './outlet.ts'
import { dryOutlet } from './dry-outlet.ts'
import { Pace } from './pace.ts'
import { Report } from './report.ts'
import type { RowGroup, RowSource } from './row-source.ts'
import type { SendingOptions, SendingTarget } from './sending-options.ts'

/** The rows to send, their target, and the limit on the rate. */
export interface TransferOptions {
  readonly io: Io
  readonly options: SendingOptions
  readonly rows: RowSource
  /** Maximum rate in rows per second; undefined for no limit. */
  readonly ratePerSecond?: number | undefined
  /** The call if the command sends only one; undefined if it sends a file. */
  readonly single?: JsonObject | undefined
  /** The notes that say how to continue an interrupted transfer. */
  readonly again?: readonly string[]
}

/** Sends every row, reports the progress, and ends with the summary and the exit code. */
export async function transfer(request: TransferOptions): Promise<ExitCode> {
  const { io, options, rows } = request
  const elapsedMs = stopwatch()
  const clock = options.virtualClock ? new VirtualClock(systemClock.nowMs(), io.stop) : systemClock
  const { single: call } = request
  const single = call === undefined ? undefined : { call, urls: urlsOf(options) }
  const report = new Report(io, { ...options, single }, elapsedMs)
  const runtime = createRuntime({ clock, log: report.log, observer: report })
  const counts = { parsed: 0, read: 0, filtered: 0 }
  const outlet = await openOutlet({ options, runtime, report })
  const sending = { ...request, runtime, report, counts, outlet }
  report.begin(() => report.progress(takenOf(sending), rows.total(counts.parsed)))
  try {
    const { isComplete, isCut, codes } = await sendAll(sending)
    if (isCut) await outlet.stop()
    const stored = await outlet.ledger()
    const end = !isCut ? 'complete' : options.store === undefined ? 'cut' : 'cut_with_store'
    const ledger = ledgerOf(sending, stored, end)
    report.summary(ledger, elapsedMs(), rows.skipped)
    // A signal that comes once everything has ended interrupts nothing.
    const isStopped = io.stop.aborted && !(isComplete && ledger.pending === 0)
    return gravest([...codes, verdict({ ...sending, isStopped }, ledger)])
  } finally {
    report.close()
    await outlet.close()
  }
}

/** Counts of rows, kept apart from the outlet's ledger so that each can check the other. */
interface RowCounts {
  /** Rows that were parsed so far. Some may not be counted in `read` yet. */
  parsed: number
  /** Rows that were handled, including invalid and excluded rows. */
  read: number
  /** Rows that `--only` excluded. The outlet never sees them. */
  filtered: number
}

function takenOf({ counts, report }: Pick<Sending, 'counts' | 'report'>): number {
  return counts.read - report.rejectedRows
}

/**
 * Adds the counts of rows to the outlet's ledger.
 *
 * @param end - `cut_with_store`: rows that are not in the store yet don't count, because the next run reads them
 * again. `cut`: there is no store, so rows that are not in the outlet's ledger yet are added as pending.
 */
function ledgerOf(
  sending: Sending,
  stored: OutletLedger,
  end: 'complete' | 'cut' | 'cut_with_store',
): OutletLedger & Ledger {
  const { read: offered, filtered } = sending.counts
  const { rejectedRows: rejected } = sending.report
  const accepted = stored.accepted + filtered
  const read = end === 'cut_with_store' ? accepted + rejected : offered
  const lost = end === 'cut' ? Math.max(0, takenOf(sending) - accepted) : 0
  return {
    ...{ ...stored, read, rejected, filtered: stored.filtered + filtered },
    accepted: accepted + lost,
    routed: stored.routed + lost,
    deliveries: stored.deliveries + lost,
    pending: stored.pending + lost,
  }
}

function urlsOf({ target }: SendingOptions): readonly string[] {
  switch (target.kind) {
    case 'service':
      return [target.endpoint]
    case 'configured':
      return []
    case 'webhooks':
    case 'captured':
      return target.destination.endpoints.map(({ url }) => url)
  }
}

interface Sending extends TransferOptions {
  readonly runtime: Runtime
  readonly report: Report
  readonly counts: RowCounts
  readonly outlet: Outlet
}

interface EndedSending extends Sending {
  /** Whether the command had to end before all rows were settled. */
  readonly isStopped: boolean
}

/** Sends all rows, and reports errors. Throws an error that occurs before the first row. */
async function sendAll(sending: Sending) {
  const { io, report, counts, outlet, rows } = sending
  const end = {
    /** Whether the outlet was offered all rows. */
    isComplete: false,
    /** Whether accepted rows may be unfinished, because the command was stopped or the outlet failed. */
    isCut: false,
    codes: [] as ExitCode[],
  }
  const fail = (error: unknown): void => {
    if (counts.read === 0) throw error
    end.codes.push(exitCodeOf(error))
    report.failure(error)
  }
  try {
    await stoppable(offerAll(readGroups(sending, fail), sending), io.stop)
    end.isComplete = !io.stop.aborted
    if (end.isComplete) await stoppable(outlet.finish(), io.stop)
  } catch (error) {
    fail(error)
    end.isCut = true
  }
  end.isCut ||= io.stop.aborted
  if (counts.parsed + (rows.skipped ?? 0) === 0 && !io.stop.aborted) {
    report.note('The input has no rows')
  }
  return end
}

async function offerAll(groups: AsyncIterable<RowGroup>, sending: Sending): Promise<void> {
  const { io, runtime, report, counts, ratePerSecond = Infinity } = sending
  const pace = new Pace(runtime.clock, ratePerSecond)
  for await (const { file, rows } of groups) {
    for (const row of rows) {
      await pace.turn(io.stop)
      if (io.stop.aborted) return
      counts.read++
      const position = { file, line: row.line }
      const result = row.kind === 'bad' ? row : await offer(row.value, position, sending)
      if (result.kind === 'bad' || result.kind === 'rejected') report.rejected(position, result)
      await report.stdout.ready()
    }
  }
}

/** Offers a row to the outlet. If `--only` excludes the row, only checks and reports it. */
async function offer(
  row: JsonObject,
  position: RowPosition,
  { options, runtime, report, counts, outlet }: Sending,
): Promise<OfferResult> {
  const { only } = options
  const call = callIn(row)
  if (only === undefined || only.takes(call)) return outlet.offer(row, position)
  const rejection = rejectionOf(row)
  if (rejection !== undefined) return rejection
  counts.filtered++
  const { type, messageId } = call
  report.filtered({
    messageId: typeof messageId === 'string' ? messageId : runtime.newId(),
    type: typeof type === 'string' ? type : '',
    decision: {
      ...{ destinationId: '', send: false, reason: 'filter_not_matched' },
      hint: only.whyNot(call),
    },
    urls: urlsOf(options).map(endpointName),
    body: null,
    signature: null,
  })
  return { kind: 'taken' }
}

function rejectionOf(row: JsonObject): RejectedRow | undefined {
  if (isCapturedRow(row) || row['type'] === 'delete') {
    const reading = isCapturedRow(row) ? readCapturedRequest(row) : readDeletion(row)
    return reading.kind === 'rejected' ? reading : undefined
  }
  const check = checkParsedCall(row)
  return check.kind === 'invalid' ? { ...check, kind: 'rejected' } : undefined
}

/** Yields groups of rows. A virtual clock stands still during a read. Passes an error to `unreadable`, then ends. */
async function* readGroups(
  { rows, runtime, io, counts }: Sending,
  unreadable: (error: unknown) => void,
): AsyncGenerator<RowGroup> {
  const groups = rows[Symbol.asyncIterator]()
  try {
    for (;;) {
      const release = runtime.clock.hold()
      // Let the event loop turn, so that signals are handled.
      await nextTurn()
      const group = await stoppable(groups.next(), io.stop).finally(release)
      if (group === undefined || group.done === true) return
      counts.parsed += group.value.rows.length
      yield group.value
    }
  } catch (error) {
    unreadable(error)
  } finally {
    await groups.return?.()
  }
}

/** Returns the exit code, and prints notes about unfinished and failed deliveries. */
function verdict(sending: EndedSending, ledger: OutletLedger & Ledger): ExitCode {
  const { io, options, report, outlet, isStopped } = sending
  const codes: ExitCode[] = []
  for (const { equation } of imbalances(ledger)) {
    report.note(`The counts do not balance: ${equation}. This is a bug in evroute`)
    codes.push(exitCodes.internal)
  }
  if (isStopped && options.dryRun && isOutputClosed(io)) return gravest(codes)
  const open = `${formatCount(ledger.pending)} of ${countOf(ledger.deliveries, 'delivery', 'deliveries')}`
  if (isStopped) {
    report.note(interruptionText(sending, ledger, open))
    codes.push(exitCodes.interrupted)
  } else if (ledger.pending > 0) {
    report.note(`Still pending: ${open}${whereTheyStay(outlet)}`)
    codes.push(exitCodes.deliveryFailed)
  }
  if (ledger.failed + ledger.expired > 0) codes.push(exitCodes.deliveryFailed)
  // An earlier run may have stored a duplicate and failed to deliver it.
  const hasFailedBefore = ledger.duplicate > 0 && outlet.hasFailedBefore === true
  if (hasFailedBefore) {
    report.note('Some deliveries of earlier runs to the same URLs have failed or expired')
    codes.push(exitCodes.deliveryFailed)
  }
  if (ledger.rejected > 0) codes.push(exitCodes.badInput)
  for (const note of nextNotes(sending, ledger, hasFailedBefore)) report.note(note)
  return gravest(codes)
}

function whereTheyStay({ storeName }: Outlet): string {
  return storeName === undefined ? '' : `, kept in ${storeName}`
}

function interruptionText(sending: Sending, ledger: Ledger, open: string): string {
  const lost = whatIsLost(sending, ledger)
  if (ledger.deliveries === 0) return `Interrupted after ${countOf(ledger.read, 'row')}${lost}`
  return `Interrupted: ${open} pending${whereTheyStay(sending.outlet)}${lost}`
}

/** Says what an interrupted command loses because it has no `--store`. Empty if `--store` would not help. */
function whatIsLost({ options, single, outlet }: Sending, { read, pending }: Ledger): string {
  const { target, dryRun, virtualClock } = options
  const canStore = target.kind === 'webhooks' && !dryRun && !virtualClock
  const isKept = single !== undefined || outlet.storeName !== undefined
  if (!canStore || isKept || read === 0) return ''
  const lost = pending > 0 ? '. The pending deliveries are lost' : ''
  return `${lost}. Pass --store sqlite:<file> to be able to resume`
}

function nextNotes(
  { io, options, again = [], outlet, isStopped }: EndedSending,
  ledger: Ledger,
  hasFailedBefore: boolean,
): readonly string[] {
  if (outlet.storeName === undefined) return []
  if (isStopped || ledger.pending > 0) return again
  if (ledger.failed + ledger.expired === 0 && !hasFailedBefore) return []
  // A URL that differs from the store's name contains a password, so don't print it.
  const store = options.store === outlet.storeName ? outlet.storeName : '...'
  const states = '--state failed --state expired'
  return [`Next: ${programName(io)} deliveries --store ${store} ${states}`]
}

async function openOutlet(parts: Omit<OutletParts<SendingTarget>, 'target'>): Promise<Outlet> {
  const { target, dryRun } = parts.options
  if (target.kind === 'captured') {
    const { captureOutlet, capturePlanOutlet } = await import('./capture-outlet.ts')
    return (dryRun ? capturePlanOutlet : captureOutlet)({ ...parts, target })
  }
  if (dryRun) return dryOutlet({ ...parts, target })
  switch (target.kind) {
    case 'configured':
      throw new Error('Calls to the destinations of a configuration can only be planned, not sent')
    case 'webhooks': {
      const { openWebhookOutlet } = await import('./webhook-outlet.ts')
      return openWebhookOutlet({ ...parts, target })
    }
    case 'service': {
      const { serviceOutlet } = await import('./service-outlet.ts')
      return serviceOutlet({ ...parts, target })
    }
  }
}
