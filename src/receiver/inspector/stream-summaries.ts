import type { ServerResponse } from 'node:http'
import type { Match } from '../../match/index.ts'
import { sleep, systemClock } from '../../runtime/index.ts'
import type { EventLog } from '../event-log.ts'
import { drained } from '../api-exchange.ts'
import type { ReceivedEvent } from '../received-event.ts'
import { isFailed, summariesMax, type EventSummaries } from './event-summary.ts'

/** Requests that arrive within this real time are sent together: a person reads no faster. */
const quietFrameMs = 40
/** The same while much arrives, so that a page draws less often and leaves the processor to the receiver. */
const crowdedFrameMs = 100
const crowdedMin = 20
/** Of one frame a person reads no more than the newest; it is more than most screens show. */
const readMax = 30

/** How long a reader waits until it connects again. */
const reconnectMs = 1_000

/** The content of a stream, and its start. */
export interface SummaryStream {
  readonly log: EventLog
  readonly summaries: EventSummaries
  /** Tells this run of the receiver from others; the ids of messages begin with it. */
  readonly run: string
  /** Only what matches; undefined for everything. */
  readonly match: Match | undefined
  /** Whether a reader that asks for summaries as they are looked at gets numbers instead of those of a crowd. */
  readonly isSampled: boolean
  /** The id of the last message that the reader has; undefined for a reader that has none. */
  readonly lastId: string | undefined
  /** Ends it. */
  readonly signal: AbortSignal
}

/**
 * Sends summaries as server-sent events until the signal ends it: `webhooks` with a list of them; `missed`
 * with the numbers of those that are not kept any more; `reset` first, where the reader knows nothing of
 * this run. A reader that wants samples gets of a crowd the newest summaries, and in `crowd` the numbers of
 * those before: a summary takes the receiver more time than a number, and a person does not read thousands a
 * second.
 */
export async function streamSummaries(
  response: ServerResponse,
  { log, summaries, run, match, isSampled, lastId, signal }: SummaryStream,
): Promise<void> {
  const arrivals = new ArrivalBell(log, signal)
  const write = async (name: string, data: unknown, seq: number): Promise<void> => {
    const text = `id: ${run}-${seq}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`
    if (!response.write(text)) await drained(response)
  }
  response.setHeader('content-type', 'text/event-stream')
  // Browsers wait for three seconds by default before they connect again.
  response.write(`retry: ${reconnectMs}\n`)
  let after = seqOf(lastId, run)
  if (after === undefined) await write('reset', { run }, 0)
  after ??= 0
  let frameMs = 0
  while (!signal.aborted) {
    await arrivals.after(after)
    if (!(await sleep(systemClock, frameMs, signal))) break
    const batch = summaries.after(after)
    const first = batch[0]?.seq ?? 0
    const last = batch.at(-1)?.seq ?? 0
    if (first > after + 1) await write('missed', { from: after + 1, to: first - 1 }, first - 1)
    const wanted = match === undefined ? batch : batch.filter((event) => match.test(event))
    // An id without events too, so that a reader that comes back does not begin before it.
    if (last > 0) await write('webhooks', arrivalsOf(wanted, { summaries, isSampled }), last)
    after = Math.max(after, last)
    frameMs = frameAfter(batch.length)
  }
  arrivals.close()
}

/** What a message says of requests that arrived: all summaries, or of a crowd the newest and the numbers before. */
function arrivalsOf(
  wanted: readonly ReceivedEvent[],
  { summaries, isSampled }: Pick<SummaryStream, 'summaries' | 'isSampled'>,
): object {
  const read = isSampled ? wanted.slice(-readMax) : wanted
  const crowd = runsOf(wanted.slice(0, wanted.length - read.length))
  const told = { summaries: read.map((event) => summaries.of(event)) }
  return crowd.length > 0 ? { crowd, ...told } : told
}

/** Requests with consecutive numbers: the first, the last, and whether they failed. */
type Run = readonly [from: number, to: number, failed: boolean]

function runsOf(events: readonly ReceivedEvent[]): readonly Run[] {
  const runs: [number, number, boolean][] = []
  for (const event of events) {
    const failed = isFailed(event)
    const run = runs.at(-1)
    if (run !== undefined && run[1] === event.seq - 1 && run[2] === failed) run[1] = event.seq
    else runs.push([event.seq, event.seq, failed])
  }
  return runs
}

/** How long the next batch is collected: a full one is followed at once, because the log keeps the newest only. */
function frameAfter(count: number): number {
  if (count >= summariesMax) return 0
  return count >= crowdedMin ? crowdedFrameMs : quietFrameMs
}

/** The number that an id of this run ends in. */
function seqOf(id: string | undefined, run: string): number | undefined {
  const [, ofRun, seq] = /^(\w+)-(\d{1,15})$/.exec(id ?? '') ?? []
  return ofRun === run ? Number(seq) : undefined
}

/** Rings when an event arrives. */
class ArrivalBell {
  readonly #log: EventLog
  readonly #signal: AbortSignal
  readonly close: () => void
  #ring: (() => void) | undefined

  constructor(log: EventLog, signal: AbortSignal) {
    this.#log = log
    this.#signal = signal
    this.close = log.listen(() => this.#ringOnce())
    signal.addEventListener('abort', () => this.#ringOnce(), { once: true })
  }

  /** Thousands of events may arrive before the next wait begins. */
  #ringOnce(): void {
    const ring = this.#ring
    this.#ring = undefined
    ring?.()
  }

  /** Resolves when there is an event after this one, or the signal ends it. */
  async after(seq: number): Promise<void> {
    while (this.#log.counts.received <= seq && !this.#signal.aborted) {
      await new Promise<void>((resolve) => (this.#ring = resolve))
    }
  }
}
