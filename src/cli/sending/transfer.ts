import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  endpointName,
  imbalances,
  type JsonObject,
  type Ledger,
  type Rejection,
} from '../../model/index.ts'
import {
  createRuntime,
  stoppable,
  stopwatch,
  systemClock,
  VirtualClock,
  type Clock,
  type Runtime,
} from '../../runtime/index.ts'
import { isOutputClosed, exitCodeOf, exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { programName } from '../output/command-line.ts'
import { countOf, formatCount } from '../output/numbers.ts'
import { applyOnly } from './only.ts'
import type {
  OfferResult,
  RowPosition,
  Outlet,
  OutletLedger,
  OutletParts,
  ServiceListener,
} from './outlet.ts'
import { dryOutlet, type Plan } from './dry-outlet.ts'
import { Pace, StoppableClock } from './pace.ts'
import { Report } from './report.ts'
import { RowCounts } from './row-counts.ts'
import type { RowGroup } from './row-source.ts'
import type { SendingOptions } from './sending-options.ts'

/** The options of a transfer. */
export interface TransferOptions {
  readonly io: Io
  readonly options: SendingOptions
  readonly rows: AsyncIterable<RowGroup>
  /** Maximum rate in rows per second; undefined for no limit. */
  readonly ratePerSecond?: number | undefined
  /** Returns the number of rows skipped so far; undefined if the command skips none. */
  readonly skipped?: (() => number) | undefined
  /** The only call of the command; undefined for the rows of a file. */
  readonly single?: JsonObject | undefined
  /** Estimates the number of all rows from the number of parsed rows; undefined if unknown. */
  readonly total: (parsed: number) => number | undefined
  /** The command line that continues an interrupted transfer; undefined if none is suggested. */
  readonly again?: string | undefined
}

/** Sends every row, reports the progress, and ends with the summary and the exit code. */
export async function transfer(request: TransferOptions): Promise<ExitCode> {
  const { io, options, skipped } = request
  const elapsedMs = stopwatch()
  const clock = options.virtualClock ? virtualClock(io) : systemClock
  const { single: call } = request
  const single = call === undefined ? undefined : { call, urls: urlsOf(options) }
  const report = await Report.open(io, { ...options, single }, elapsedMs)
  const runtime = createRuntime({ clock, log: report.log, observer: report })
  const counts = new RowCounts()
  const listener = {
    rejected: (position: RowPosition, rejection: Rejection): void => {
      counts.add('rejected')
      report.rejected(position, rejection)
    },
    acknowledged: () => report.acknowledged(),
    retrying: report.retrying.bind(report),
    failed: report.failed.bind(report),
  }
  const outlet = await openOutlet({ options, runtime, listener }, (plan) => report.planned(plan))
  report.begin(() => report.progress(counts.taken, request.total(counts.parsed)))
  const sending = { ...request, runtime, report, counts, outlet }
  try {
    const errors = await sendAll(sending)
    const isCut = io.stop.aborted || errors.some(({ isOurs }) => isOurs)
    if (isCut) await outlet.stop()
    const stored = await outlet.ledger()
    const ledger = isCut ? cutLedger(request, counts, stored) : counts.ledger(stored)
    report.summary({ ledger, durationMs: elapsedMs(), skipped: skipped?.() })
    const codes = errors.map(({ error }) => exitCodeOf(error))
    return gravest([...codes, verdict(sending, ledger)])
  } finally {
    report.close()
    await outlet.close()
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

function virtualClock({ stop }: Io): Clock {
  return new StoppableClock(new VirtualClock(systemClock.nowMs()), stop)
}

interface Sending extends TransferOptions {
  readonly runtime: Runtime
  readonly report: Report
  readonly counts: RowCounts
  readonly outlet: Outlet
}

/** An error that was reported. If `isOurs`, it does not come from the input, so accepted rows may be unfinished. */
interface TransferError {
  readonly error: unknown
  readonly isOurs: boolean
}

/**
 * Resolves when every readable row is settled, nothing more can be done, or the command must end early.
 *
 * @returns the errors that were reported
 * @throws any error before the first row was read; then nothing has happened
 */
async function sendAll(sending: Sending): Promise<readonly TransferError[]> {
  const { io, report, counts, outlet } = sending
  const errors: TransferError[] = []
  const tell = (error: unknown, isOurs: boolean): void => {
    errors.push({ error, isOurs })
    report.failure(error)
  }
  const groups = readGroups(sending, (error) => {
    if (counts.read === 0) throw error
    tell(error, false)
  })
  try {
    await stoppable(
      offerAll(groups, sending).then(() => (io.stop.aborted ? undefined : outlet.finish())),
      io.stop,
    )
  } catch (error) {
    if (counts.read === 0) throw error
    tell(error, true)
  }
  return errors
}

async function offerAll(groups: AsyncIterable<RowGroup>, sending: Sending): Promise<void> {
  const { io, runtime, report, counts, ratePerSecond = Infinity } = sending
  const pace = new Pace(runtime.clock, ratePerSecond)
  for await (const { file, rows } of groups) {
    for (const row of rows) {
      await pace.turn(io.stop)
      if (io.stop.aborted) return
      counts.add('read')
      const position = { file, line: row.line }
      const result = row.kind === 'bad' ? row : await offer(row.value, position, sending)
      if (result.kind === 'bad' || result.kind === 'rejected') {
        counts.add('rejected')
        report.rejected(position, result)
      }
      await report.ready()
    }
  }
}

/** Offers a row to the outlet, unless `--only` excludes it. */
async function offer(
  row: JsonObject,
  position: RowPosition,
  { options, runtime, report, counts, outlet }: Sending,
): Promise<OfferResult> {
  const outcome = applyOnly(options.only, row)
  if (outcome.kind === 'fits') return outlet.offer(row, position)
  if (outcome.kind === 'rejected') return outcome
  counts.add('filtered')
  const { call, whyNot } = outcome
  const { type, messageId } = call
  report.filtered({
    messageId: typeof messageId === 'string' ? messageId : runtime.newId(),
    type: typeof type === 'string' ? type : '',
    decision: { destinationId: '', send: false, reason: 'filter_not_matched', hint: whyNot },
    urls: urlsOf(options).map(endpointName),
    body: null,
    signature: null,
  })
  return { kind: 'taken' }
}

/**
 * Yields the groups of rows. A virtual clock stands still while they are read. The event loop turns before each
 * group, so that signals are handled.
 *
 * @param unreadable - called with the error that ends the rows early
 */
async function* readGroups(
  { rows, runtime, io, counts }: Sending,
  unreadable: (error: unknown) => void,
): AsyncGenerator<RowGroup> {
  const groups = rows[Symbol.asyncIterator]()
  try {
    for (;;) {
      const release = runtime.clock.hold()
      await nextTurn()
      const group = await stoppable(groups.next(), io.stop).finally(release)
      if (group === undefined || group.done === true) return
      counts.add('parsed', group.value.rows.length)
      yield group.value
    }
  } catch (error) {
    unreadable(error)
  } finally {
    await groups.return?.()
  }
}

/** Decides the exit code from the ledger and the way the command ended. Prints notes about problems. */
function verdict(sending: Sending, ledger: OutletLedger & Ledger): ExitCode {
  const { io, report, outlet } = sending
  const { stop } = io
  const codes: ExitCode[] = []
  for (const { equation } of imbalances(ledger)) {
    report.note(`The counts do not balance: ${equation}. This is a bug in evroute`)
    codes.push(exitCodes.internal)
  }
  if (isOutputClosed({ stop })) return gravest(codes)
  const open = `${formatCount(ledger.pending)} of ${countOf(ledger.deliveries, 'delivery', 'deliveries')}`
  if (stop.aborted) {
    report.note(`Interrupted: ${open} pending${whereTheyStay(outlet)}`)
    codes.push(exitCodes.interrupted)
  } else if (ledger.pending > 0) {
    report.note(`${open} are still pending${whereTheyStay(outlet)}`)
    codes.push(exitCodes.deliveryFailed)
  }
  if (ledger.failed + ledger.expired > 0) codes.push(exitCodes.deliveryFailed)
  // A duplicate may have failed in an earlier run.
  const hasFailedBefore = ledger.duplicate > 0 && outlet.hasFailedBefore === true
  if (hasFailedBefore) {
    report.note('Deliveries from earlier runs to the same --to have failed or expired')
    codes.push(exitCodes.deliveryFailed)
  }
  if (ledger.rejected > 0) codes.push(exitCodes.badInput)
  const next = nextCommand(sending, ledger, hasFailedBefore)
  if (next !== undefined) report.note(`Next: ${next}`)
  return gravest(codes)
}

function whereTheyStay({ storeName }: Outlet): string {
  return storeName === undefined ? '' : `; they stay in ${storeName}`
}

/** Returns the command to run next; undefined if nothing is left to do. */
function nextCommand(
  { io, options, again, outlet }: Sending,
  ledger: Ledger,
  hasFailedBefore: boolean,
): string | undefined {
  if (outlet.storeName === undefined) return undefined
  if (io.stop.aborted || ledger.pending > 0) return again
  if (ledger.failed + ledger.expired === 0 && !hasFailedBefore) return undefined
  // The URL of a store may contain a password.
  const store = options.store === outlet.storeName ? outlet.storeName : '...'
  const states = '--state failed --state expired'
  return `${programName(io)} deliveries --store ${store} ${states}`
}

/** Returns the ledger of an interrupted transfer. With a durable store, only rows in the store count. */
function cutLedger(
  { options }: TransferOptions,
  counts: RowCounts,
  stored: OutletLedger,
): OutletLedger & Ledger {
  return options.store === undefined ? counts.ledgerOfCut(stored) : counts.ledgerOfStore(stored)
}

/**
 * Opens the outlet for the options. Code that sends is imported on demand.
 *
 * @param planned - called with each plan of a dry run
 */
async function openOutlet(
  parts: OutletParts & { readonly listener: ServiceListener },
  planned: (plan: Plan) => void,
): Promise<Outlet> {
  const { target, dryRun } = parts.options
  if (target.kind === 'captured') {
    const { CaptureOutlet, capturePlanOutlet } = await import('./capture-outlet.ts')
    if (dryRun) return capturePlanOutlet({ ...parts, target, planned })
    return CaptureOutlet.open({ ...parts, target })
  }
  if (dryRun) return dryOutlet({ ...parts, target, planned })
  switch (target.kind) {
    case 'configured':
      throw new Error('Calls are only planned for the destinations of a configuration')
    case 'webhooks': {
      const { WebhookOutlet } = await import('./webhook-outlet.ts')
      return WebhookOutlet.open({ ...parts, target })
    }
    case 'service': {
      const { ServiceOutlet } = await import('./service-outlet.ts')
      return new ServiceOutlet({ ...parts, target })
    }
  }
}
