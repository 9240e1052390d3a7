import type { ServerResponse } from 'node:http'
import type { Match } from '../../match/index.ts'
import { sleep, systemClock } from '../../runtime/index.ts'
import type { EventLog } from '../event-log.ts'
import { drained } from '../api-exchange.ts'
import type { EventSummaries } from './event-summary.ts'

/** What arrives within this time of real time is told together: a person reads no faster. */
const frameMs = 40

/** What is streamed, and from where on. */
export interface SummaryStream {
  readonly log: EventLog
  readonly summaries: EventSummaries
  /** Tells this run of the receiver from others; the ids of messages begin with it. */
  readonly run: string
  /** Only what matches; undefined for everything. */
  readonly match: Match | undefined
  /** The id of the last message that the reader has; undefined for a reader that has none. */
  readonly lastId: string | undefined
  /** Ends it. */
  readonly signal: AbortSignal
}

/**
 * Sends summaries as server-sent events until the signal ends it: `webhooks` with a list of them; `missed`
 * with the numbers of those that are not kept any more; `reset` first, where the reader knows nothing of
 * this run.
 */
export async function streamSummaries(
  response: ServerResponse,
  { log, summaries, run, match, lastId, signal }: SummaryStream,
): Promise<void> {
  const arrivals = new ArrivalBell(log, signal)
  const write = async (name: string, data: unknown, seq: number): Promise<void> => {
    const text = `id: ${run}-${seq}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`
    if (!response.write(text)) await drained(response)
  }
  response.setHeader('content-type', 'text/event-stream')
  let after = seqOf(lastId, run)
  if (after === undefined) await write('reset', { run }, 0)
  after ??= 0
  while (!signal.aborted) {
    const batch = summaries.after(after)
    const first = batch[0]?.[0].seq
    const last = batch.at(-1)?.[0].seq
    if (first === undefined || last === undefined) {
      await arrivals.after(after)
      await sleep(systemClock, frameMs, signal)
      continue
    }
    if (first > after + 1) await write('missed', { from: after + 1, to: first - 1 }, first - 1)
    const wanted = batch.filter(([event]) => match?.test(event) !== false)
    // An id without events too, so that a reader that comes back does not begin before it.
    await write('webhooks', { summaries: wanted.map(([, summary]) => summary) }, last)
    after = last
  }
  arrivals.close()
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
  #ring: () => void = () => undefined

  constructor(log: EventLog, signal: AbortSignal) {
    this.#log = log
    this.#signal = signal
    this.close = log.listen(() => this.#ring())
    signal.addEventListener('abort', () => this.#ring(), { once: true })
  }

  /** Resolves when there is an event after this one, or the signal ends it. */
  async after(seq: number): Promise<void> {
    while (this.#log.counts.received <= seq && !this.#signal.aborted) {
      await new Promise<void>((resolve) => (this.#ring = resolve))
    }
  }
}
