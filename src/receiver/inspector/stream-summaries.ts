import type { ServerResponse } from 'node:http'
import type { Match } from '../../match/index.ts'
import { systemClock } from '../../runtime/index.ts'
import type { EventLog } from '../event-log.ts'
import { drained } from '../api-exchange.ts'
import type { ReceivedEvent } from '../received-event.ts'
import { isFailed, summariesMax, type EventSummaries } from './event-summary.ts'
import type { Inspected } from './inspected.ts'

/** How long to collect requests for one message, in real time. */
const quietFrameMs = 40
/** How long to collect requests during a burst, so that the page draws less often and takes less CPU. */
const crowdedFrameMs = 100
const crowdedMin = 20
/** A message is sent at once when this many requests wait, because a receiver keeps only 1,000 by default. */
const waitingMax = 900
/** Maximum summaries in a message if `isSampled`: more than most screens show. */
const sampleMax = 30

const reconnectMs = 1_000

interface SummaryStream {
  readonly inspected: Inspected
  readonly summaries: EventSummaries
  /** Identifies this run of the receiver. The ids of messages begin with it. */
  readonly run: string
  readonly match: Match | undefined
  /** Whether to send only sequence numbers for most requests in a burst. The client fetches the summaries it needs. */
  readonly isSampled: boolean
  /** The id of the last message that the client received; undefined if it received none. */
  readonly lastId: string | undefined
  readonly signal: AbortSignal
}

/**
 * Sends server-sent events until the signal aborts:
 *
 * - `reset` comes first, unless the client has already received messages from this run
 * - `webhooks` has summaries. In a burst, a sampling client gets only the newest ones, because making summaries takes
 *   time and nobody can read thousands a second
 * - `crowd` has the sequence numbers of the requests without a summary
 * - `missed` has the first and the last sequence number of requests that are no longer kept
 */
export async function streamSummaries(
  response: ServerResponse,
  { inspected, summaries, run, match, isSampled, lastId, signal }: SummaryStream,
): Promise<void> {
  const { log, secret, passesOn } = inspected
  const write = async (name: string, data: unknown, seq: number): Promise<void> => {
    const text = `id: ${run}-${seq}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`
    if (!response.write(text)) await drained(response)
  }
  response.setHeader('content-type', 'text/event-stream')
  // Have browsers reconnect sooner than after their default of three seconds.
  response.write(`retry: ${reconnectMs}\n`)
  let after = seqOf(lastId, run)
  if (after === undefined) {
    await write('reset', { run, isSigned: secret !== undefined, passesOn }, 0)
  }
  after ??= 0
  let frameMs = 0
  for (;;) {
    await eventAfter(after, log, { signal })
    await eventAfter(after + waitingMax, log, { signal, waitMs: frameMs })
    if (signal.aborted) return
    const batch = summaries.after(after)
    const first = batch[0]?.seq ?? 0
    const last = batch.at(-1)?.seq ?? 0
    if (first > after + 1) await write('missed', { from: after + 1, to: first - 1 }, first - 1)
    const wanted = match === undefined ? batch : batch.filter((event) => match.test(event))
    // Send a message even if no event matches: its id tells a reconnecting client where to continue.
    if (last > 0) await write('webhooks', arrivalsOf(wanted, { summaries, isSampled }), last)
    after = Math.max(after, last)
    frameMs = frameAfter(batch.length)
  }
}

function arrivalsOf(
  wanted: readonly ReceivedEvent[],
  { summaries, isSampled }: Pick<SummaryStream, 'summaries' | 'isSampled'>,
): object {
  const newest = isSampled ? wanted.slice(-sampleMax) : wanted
  const crowd = runsOf(wanted.slice(0, wanted.length - newest.length))
  const message = { summaries: newest.map((event) => summaries.of(event)) }
  return crowd.length > 0 ? { crowd, ...message } : message
}

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

/** Returns how long to collect the next batch. After a full batch, returns 0: the log may drop waiting events. */
function frameAfter(count: number): number {
  if (count >= summariesMax) return 0
  return count >= crowdedMin ? crowdedFrameMs : quietFrameMs
}

function seqOf(id: string | undefined, run: string): number | undefined {
  const [, ofRun, seq] = /^(\w+)-(\d{1,15})$/.exec(id ?? '') ?? []
  return ofRun === run ? Number(seq) : undefined
}

function eventAfter(
  seq: number,
  log: EventLog,
  { signal, waitMs }: { readonly signal: AbortSignal; readonly waitMs?: number },
): Promise<void> {
  if (log.counts.received > seq || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      endListening()
      timer?.cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const endListening = log.listen((event) => {
      if (event.seq > seq) end()
    })
    const timer = waitMs === undefined ? undefined : systemClock.schedule(waitMs, end)
    signal.addEventListener('abort', end)
  })
}
