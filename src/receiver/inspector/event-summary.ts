import { endpointName, shortText, type EventType } from '../../model/index.ts'
import type { EventLog } from '../event-log.ts'
import type { ReceivedEvent, RefusalCode } from '../received-event.ts'
import type { SignatureVerdict } from '../signature.ts'
import { SummaryMemory } from '../summary/memory.ts'
import type { SummaryPart } from '../summary/part.ts'
import { summarise, typesOfMemory } from '../summary/summarise.ts'

/** A received request as a row of a list. */
export interface EventSummary {
  /** The number of the request, counting from 1. */
  readonly seq: number
  /** When the headers arrived, in milliseconds since 1970. */
  readonly atMs: number
  /** Null if the request is not a webhook. */
  readonly type: EventType | null
  /** At most 200 characters; null without a user. */
  readonly userId: string | null
  /** The summary that the terminal shows; for a malformed request, what is wrong. */
  readonly summary: readonly SummaryPart[]
  readonly signature: SignatureVerdict
  /** The code of the mistake in the body; null for none. */
  readonly code: RefusalCode | null
  /** The status of the answer; null if none was sent. */
  readonly status: number | null
  /** The planned fault or status that it got; null for none. */
  readonly injected: string | null
  /** The status or error of the forwarding target; null if the request was not forwarded. */
  readonly forwarded: number | string | null
  /** The URL of the target without its query; null if the request was not forwarded. */
  readonly forwardedTo: string | null
  /** Milliseconds from arrival to answer. */
  readonly durationMs: number
  /** Number of the previous event with the same messageId; null for none. */
  readonly repeatOf: number | null
  /** Whether the signature or the body is wrong, or an answer is not 2xx. See {@link isFailed}. */
  readonly failed: boolean
}

const textMax = 200
/** Maximum messageIds to remember. */
const messagesMax = 10_000
/** Maximum events per batch of summaries. */
export const summariesMax = 1_000

/** Facts about an event that depend on earlier events. */
interface Noted {
  readonly repeatOf: number | null
  /** The summary if it depends on earlier events; undefined if the event alone is enough. */
  readonly parts: readonly SummaryPart[] | undefined
}

const nothingNoted: Noted = { repeatOf: null, parts: undefined }

/** Summarizes the events of a log. Visits them in order, so that a summary can show what changed. */
export class EventSummaries {
  readonly #log: EventLog
  readonly #memory = new SummaryMemory()
  /** Facts about the events visited last, at least about all that the log keeps. */
  readonly #noted: Noted[] = []
  /** Number of the newest event by messageId, oldest first. */
  readonly #messages = new Map<string, number>()
  #newestSeq = 0

  constructor(log: EventLog) {
    this.#log = log
  }

  /** Returns at most 1,000 events after a number, oldest first. */
  after(seq: number): readonly ReceivedEvent[] {
    const events = this.#log.after(seq, summariesMax)
    this.#noteUpTo(events.at(-1)?.seq ?? 0)
    return events
  }

  /** Summarizes an event that the log keeps. */
  of(event: ReceivedEvent): EventSummary {
    this.#noteUpTo(event.seq)
    const { seq, atMs, type, userId, signature, code, status, injected, forward } = event
    const { repeatOf, parts } = this.#noted.at(seq - this.#newestSeq - 1) ?? nothingNoted
    return {
      seq,
      atMs,
      type,
      userId: userId === null ? null : shortText(userId, textMax),
      summary: parts ?? this.#partsOf(event),
      signature,
      code,
      status,
      injected,
      forwarded: forward === null ? null : (forward.status ?? forward.error),
      forwardedTo: forward === null ? null : shortText(endpointName(forward.url), textMax),
      durationMs: event.durationMs,
      repeatOf,
      failed: isFailed(event),
    }
  }

  #noteUpTo(seq: number): void {
    if (seq <= this.#newestSeq) return
    while (this.#newestSeq < seq) {
      for (const event of this.#log.after(this.#newestSeq, summariesMax)) {
        this.#noted.push(this.#note(event))
        this.#newestSeq = event.seq
      }
    }
    const oldestSeq = this.#log.after(0, 1)[0]?.seq ?? seq
    const keptMin = this.#newestSeq - oldestSeq + 1
    // Drop half of them at once, because each splice moves all the others.
    if (this.#noted.length > 2 * keptMin) this.#noted.splice(0, this.#noted.length - keptMin)
  }

  #note(event: ReceivedEvent): Noted {
    const repeatOf = this.#repeated(event)
    const isOrdered = event.type !== null && typesOfMemory.has(event.type)
    if (repeatOf === null && !isOrdered) return nothingNoted
    return { repeatOf, parts: isOrdered ? this.#partsOf(event) : undefined }
  }

  #partsOf(event: ReceivedEvent): readonly SummaryPart[] {
    if (event.kind === 'webhook') return summarise(event, this.#memory)
    return [{ role: 'warning', text: shortText(event.reason ?? event.code, textMax) }]
  }

  #repeated({ seq, body }: ReceivedEvent): number | null {
    const messageId = body?.['messageId']
    if (typeof messageId !== 'string' || messageId.length > textMax) return null
    const before = this.#messages.get(messageId)
    this.#messages.delete(messageId)
    this.#messages.set(messageId, seq)
    if (this.#messages.size > messagesMax) {
      const [oldest = ''] = this.#messages.keys()
      this.#messages.delete(oldest)
    }
    return before ?? null
  }
}

/** Whether a request has a wrong signature or body, or an answer that is not 2xx. */
export function isFailed({ signature, code, status, forward }: ReceivedEvent): boolean {
  const isUnverified = signature === 'invalid' || signature === 'missing'
  if (isUnverified || code !== null || status === null || !isGood(status)) return true
  return forward !== null && (forward.status === null || !isGood(forward.status))
}

function isGood(status: number): boolean {
  return status >= 200 && status < 300
}
