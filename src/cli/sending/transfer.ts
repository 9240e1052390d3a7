import type { Row } from '../../importer/index.ts'
import { imbalances, type Ledger, type Rejection } from '../../model/index.ts'
import {
  createRuntime,
  stopwatch,
  systemClock,
  VirtualClock,
  type Clock,
} from '../../runtime/index.ts'
import { exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import { stoppable, type Io } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { openOutlet } from './open-outlet.ts'
import type { OutletLedger } from './outlet.ts'
import { Pace } from './pace.ts'
import { Report } from './report.ts'
import type { SendingOptions } from './sending-options.ts'

/** What a transfer is made of. */
export interface TransferOptions {
  /** Streams and the signal to end early. */
  readonly io: Io
  /** Where and how to send. */
  readonly options: SendingOptions
  /** What to send. */
  readonly rows: AsyncIterable<readonly Row[]>
  /** Rows per second at the most; as fast as possible when undefined. */
  readonly ratePerSecond?: number | undefined
}

/** Sends every row, tells what happens, and ends with the books and the exit code they deserve. */
export async function transfer(request: TransferOptions): Promise<ExitCode> {
  const { io, options, rows, ratePerSecond = Infinity } = request
  const elapsedMs = stopwatch()
  const clock = options.virtualClock ? new VirtualClock(systemClock.nowMs()) : systemClock
  const report = new Report(io, options, elapsedMs)
  const runtime = createRuntime({ clock, log: report.log, observer: report })
  const counts = { read: 0, rejected: 0 }
  const reject = (line: number, rejection: Rejection): void => {
    counts.rejected++
    report.rejected(line, rejection)
  }
  const listener = { rejected: reject, acknowledged: () => report.acknowledged() }
  const parts = { options, runtime, listener }
  const outlet = openOutlet(parts, (plan) => report.planned(plan))

  const offer = async (row: Row): Promise<void> => {
    counts.read++
    const result = row.kind === 'bad' ? row : await outlet.offer(row.value, row.line)
    if (result.kind === 'bad' || result.kind === 'rejected') reject(row.line, result)
  }

  const sendAll = async (): Promise<void> => {
    const pace = new Pace(clock, ratePerSecond)
    for await (const row of eachRow(rows, clock)) {
      await pace.turn(io.stop)
      if (io.stop.aborted) return
      await offer(row)
      await report.ready()
    }
    await outlet.finish()
  }
  report.begin()
  try {
    await stoppable(sendAll(), io.stop)
    if (io.stop.aborted) await outlet.stop()
    const ledger = booksOf(await outlet.ledger(), counts, io.stop)
    report.summary(ledger, elapsedMs())
    return verdict({ ledger, report, stop: io.stop })
  } finally {
    report.close()
    await outlet.close()
  }
}

/** Gives the rows one by one; a virtual clock stands still while they are read. */
async function* eachRow(rows: AsyncIterable<readonly Row[]>, clock: Clock): AsyncGenerator<Row> {
  const chunks = rows[Symbol.asyncIterator]()
  try {
    for (;;) {
      const release = clock.hold()
      const chunk = await chunks.next()
      release()
      if (chunk.done === true) return
      yield* chunk.value
    }
  } finally {
    await chunks.return?.()
  }
}

/** Puts the books together. What was read and not taken in when the command was stopped is not read. */
function booksOf(
  ledger: OutletLedger,
  { read, rejected }: { readonly read: number; readonly rejected: number },
  stop: AbortSignal,
): OutletLedger & Ledger {
  return { read: stop.aborted ? ledger.accepted + rejected : read, rejected, ...ledger }
}

/** What the books and the way the command ended are worth. */
function verdict(end: {
  readonly ledger: Ledger
  readonly report: Report
  readonly stop: AbortSignal
}): ExitCode {
  const { ledger, report, stop } = end
  const codes: ExitCode[] = []
  for (const { equation } of imbalances(ledger)) {
    report.note(`The counts do not balance: ${equation}. This is a fault of evroute`)
    codes.push(exitCodes.internal)
  }
  if (stop.aborted) {
    // Whoever closed our output knows that it ends here.
    if (stop.reason === 'output_closed') return gravest(codes)
    const open = `${formatCount(ledger.pending)} of ${formatCount(ledger.deliveries)}`
    report.note(`Interrupted: ${open} deliveries were not made`)
    codes.push(exitCodes.interrupted)
  }
  if (ledger.failed + ledger.expired > 0) codes.push(exitCodes.deliveryFailed)
  if (ledger.rejected > 0) codes.push(exitCodes.badInput)
  return gravest(codes)
}
