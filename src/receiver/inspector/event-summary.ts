import { endpointName, shortText, type EventType } from '../../model/index.ts'
import type { EventLog } from '../event-log.ts'
import type { ReceivedEvent, RefusalCode } from '../received-event.ts'
import type { SignatureVerdict } from '../signature.ts'
import { SummaryMemory } from '../summary/memory.ts'
import type { SummaryPart } from '../summary/part.ts'
import { summarise, typesOfMemory } from '../summary/summarise.ts'

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
  /** Whether a person would look into it: a bad signature or body, or an answer that is not 2xx. */
  readonly failed: boolean
}

const textMax = 200
/** How many messageIds are remembered. */
const messagesMax = 10_000
/** Events that are summed up in one go. */
export const summariesMax = 1_000

/** What only the events before one tell about it. */
interface Noted {
  readonly repeatOf: number | null
  /** Its summary where that tells what changed; undefined where it is made of the event alone. */
  readonly parts: readonly SummaryPart[] | undefined
}

const nothingNoted: Noted = { repeatOf: null, parts: undefined }

/** Sums up the events of a log. Notes them in their order, so that a summary can tell what changed. */
export class EventSummaries {
  readonly #log: EventLog
  readonly #memory = new SummaryMemory()
  /** What was noted of the events up to the newest, at least of those that the log keeps. */
  readonly #noted: Noted[] = []
  /** The newest event of each messageId, the oldest first. */
  readonly #messages = new Map<string, number>()
  #newestSeq = 0

  constructor(log: EventLog) {
    this.#log = log
  }

  /** The events after one, oldest first: at most 1,000. */
  after(seq: number): readonly ReceivedEvent[] {
    const events = this.#log.after(seq, summariesMax)
    this.#noteUpTo(events.at(-1)?.seq ?? 0)
    return events
  }

  /** The summary of an event that the log keeps. */
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
    // Half of them at once, because each splice moves all others.
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

/** Whether a person would look into it: a bad signature or body, or an answer that is not 2xx. */
export function isFailed({ signature, code, status, forward }: ReceivedEvent): boolean {
  const isUnverified = signature === 'invalid' || signature === 'missing'
  if (isUnverified || code !== null || status === null || !isGood(status)) return true
  return forward !== null && (forward.status === null || !isGood(forward.status))
}

function isGood(status: number): boolean {
  return status >= 200 && status < 300
}
