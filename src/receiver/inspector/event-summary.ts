import { endpointName, shortText, type EventType } from '../../model/index.ts'
import type { EventLog } from '../event-log.ts'
import type { ReceivedEvent, RefusalCode } from '../received-event.ts'
import type { SignatureVerdict } from '../signature.ts'
import { SummaryMemory } from '../summary/memory.ts'
import type { SummaryPart } from '../summary/part.ts'
import { summarise } from '../summary/summarise.ts'

/** A received request in a line of a list. */
export interface EventSummary {
  /** Its number, from 1. */
  readonly seq: number
  /** When its head arrived, in milliseconds since 1970. */
  readonly atMs: number
  /** Its type; null if it is not a webhook. */
  readonly type: EventType | null
  /** The user it is about, at most 200 characters; null if there is none. */
  readonly userId: string | null
  /** The summary that the terminal shows; the reason if it is malformed. */
  readonly summary: readonly SummaryPart[]
  /** Whether its signature is right. */
  readonly signature: SignatureVerdict
  /** The code of the mistake in its body; null if there is none. */
  readonly code: RefusalCode | null
  /** The status of its answer; null where none was sent. */
  readonly status: number | null
  /** The fault that it was given; null when none. */
  readonly injected: string | null
  /** The answer of the target it was forwarded to: a status, or an error; null if it was not forwarded. */
  readonly forwarded: number | string | null
  /** Where it was forwarded to, without its query; null if it was not. */
  readonly forwardedTo: string | null
  /** From its arrival to its answer, in milliseconds. */
  readonly durationMs: number
  /** The newest event before it with the same messageId; null where there is none. */
  readonly repeatOf: number | null
}

const textMax = 200
/** How many messageIds are remembered. */
const messagesMax = 10_000
/** Events that are summed up in one go. */
export const summariesMax = 1_000

/** Sums up the events of a log, in their order, so that a summary can tell what changed. */
export class EventSummaries {
  readonly #log: EventLog
  readonly #memory = new SummaryMemory()
  /** The summaries of the events up to the newest that was summed up, at least of those that the log keeps. */
  readonly #known: EventSummary[] = []
  /** The newest event of each messageId, the oldest first. */
  readonly #messages = new Map<string, number>()
  #summedUp = 0

  constructor(log: EventLog) {
    this.#log = log
  }

  /** The events after one with their summaries, oldest first: at most 1,000. */
  after(seq: number): readonly (readonly [ReceivedEvent, EventSummary])[] {
    const events = this.#log.after(seq, summariesMax)
    this.#sumUpTo(events.at(-1)?.seq ?? 0)
    const firstSeq = this.#summedUp - this.#known.length + 1
    return events.flatMap((event) => {
      const summary = this.#known[event.seq - firstSeq]
      return summary === undefined ? [] : [[event, summary] as const]
    })
  }

  #sumUpTo(seq: number): void {
    while (this.#summedUp < seq) {
      for (const event of this.#log.after(this.#summedUp, summariesMax)) {
        this.#known.push(this.#sumUp(event))
        this.#summedUp = event.seq
      }
    }
    const oldestSeq = this.#log.after(0, 1)[0]?.seq ?? seq
    const keptMin = this.#summedUp - oldestSeq + 1
    // Half of them at once, because each splice moves all others.
    if (this.#known.length > 2 * keptMin) this.#known.splice(0, this.#known.length - keptMin)
  }

  #sumUp(event: ReceivedEvent): EventSummary {
    const { seq, atMs, type, userId, signature, code, status, injected, forward } = event
    return {
      seq,
      atMs,
      type,
      userId: userId === null ? null : shortText(userId, textMax),
      summary:
        event.kind === 'webhook'
          ? summarise(event, this.#memory)
          : [{ role: 'warning', text: shortText(event.reason ?? event.code, textMax) }],
      signature,
      code,
      status,
      injected,
      forwarded: forward === null ? null : (forward.status ?? forward.error),
      forwardedTo: forward === null ? null : shortText(endpointName(forward.url), textMax),
      durationMs: event.durationMs,
      repeatOf: this.#repeated(event),
    }
  }

  #repeated({ seq, body }: ReceivedEvent): number | null {
    const messageId = body?.['messageId']
    if (typeof messageId !== 'string' || messageId.length > textMax) return null
    const before = this.#messages.get(messageId)
    this.#messages.delete(messageId)
    this.#messages.set(messageId, seq)
    const [oldest = ''] = this.#messages.keys()
    if (this.#messages.size > messagesMax) this.#messages.delete(oldest)
    return before ?? null
  }
}
