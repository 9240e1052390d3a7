import { endpointName, shortText } from '../../model/index.ts'
import type { EventLog } from '../event-log.ts'
import type { ReceivedEvent } from '../received-event.ts'
import { SummaryMemory } from '../summary/memory.ts'
import type { SummaryPart } from '../summary/part.ts'
import { summarise, typesOfMemory } from '../summary/summarise.ts'

/** A received request as a row of a list. */
export type EventSummary = ReturnType<EventSummaries['of']>

const textMax = 200
/** Maximum events in a batch of summaries. */
export const summariesMax = 1_000

interface Noted {
  readonly repeatOf: number | null
  /** The summary, if it depends on earlier events. Other summaries are made on demand. */
  readonly parts: readonly SummaryPart[] | undefined
}

/** Summarises the events of a log. Visits all events in order, so that a summary can show what changed. */
export class EventSummaries {
  readonly #log: EventLog
  readonly #memory = new SummaryMemory()
  /** Facts about kept events, by number. Most events have no entry. */
  readonly #noted = new Map<number, Noted>()
  #newestSeq = 0

  constructor(log: EventLog) {
    this.#log = log
  }

  after(seq: number): readonly ReceivedEvent[] {
    const events = this.#log.after(seq, summariesMax)
    this.#noteUpTo(events.at(-1)?.seq ?? 0)
    return events
  }

  of(event: ReceivedEvent) {
    this.#noteUpTo(event.seq)
    const { seq, atMs, type, userId, signature, code, status, injected, forward } = event
    const { repeatOf = null, parts } = this.#noted.get(seq) ?? {}
    return {
      seq,
      atMs,
      type,
      userId: userId === null ? null : shortText(userId, textMax),
      /** The summary that the terminal shows; for a malformed request, what is wrong. */
      summary: parts ?? this.#partsOf(event),
      signature,
      code,
      status,
      injected,
      /** The status or error of the forwarding target; null if the request was not forwarded. */
      forwarded: forward === null ? null : (forward.status ?? forward.error),
      forwardedTo: forward === null ? null : shortText(endpointName(forward.url), textMax),
      durationMs: event.durationMs,
      /** The number of the first event with the same messageId; null if this is the first. */
      repeatOf,
      failed: isFailed(event),
    }
  }

  #noteUpTo(seq: number): void {
    if (seq <= this.#newestSeq) return
    while (this.#newestSeq < seq) {
      for (const event of this.#log.after(this.#newestSeq, summariesMax)) {
        this.#note(event)
        this.#newestSeq = event.seq
      }
    }
    for (const noted of this.#noted.keys()) {
      if (this.#log.get(noted) !== undefined) break
      this.#noted.delete(noted)
    }
  }

  #note(event: ReceivedEvent): void {
    const repeatOf = this.#memory.repeatOf(event) ?? null
    const isOrdered = event.type !== null && typesOfMemory.has(event.type)
    const parts = isOrdered ? this.#partsOf(event) : undefined
    if (repeatOf !== null || isOrdered) this.#noted.set(event.seq, { repeatOf, parts })
  }

  #partsOf(event: ReceivedEvent): readonly SummaryPart[] {
    if (event.kind === 'webhook') return summarise(event, this.#memory)
    return [{ role: 'warning', text: shortText(event.reason ?? event.code, textMax) }]
  }
}

/** Whether a request has a wrong signature or body, or an answer that is not 2xx. Its target's answer counts, too. */
export function isFailed({ signature, code, status, forward }: ReceivedEvent): boolean {
  const isUnverified = signature === 'invalid' || signature === 'missing'
  if (isUnverified || code !== null || status === null || !isGood(status)) return true
  return forward !== null && (forward.status === null || !isGood(forward.status))
}

function isGood(status: number): boolean {
  return status >= 200 && status < 300
}
