import type { AddOutcome } from '../../delivery/index.ts'
import type { RejectionCode } from '../../model/index.ts'
import type { Clock } from '../../runtime/index.ts'

/** A call of a source that was rejected. */
export interface LatestRejected {
  /** When, in milliseconds since 1970. */
  readonly atMs: number
  /** Its messageId, shortened; null where it has none. */
  readonly messageId: string | null
  /** Why. */
  readonly code: RejectionCode
  /** The same in words, shortened. */
  readonly message: string
}

/** What became of the calls of a source since this process began. */
export interface SourceCounts {
  /** Calls that were accepted, by what became of them. */
  readonly accepted: Readonly<Record<AddOutcome, number>>
  /** Calls that were rejected, by code. */
  readonly rejected: Readonly<Partial<Record<RejectionCode, number>>>
  /** The last rejected calls, the latest first. */
  readonly latestRejected: readonly LatestRejected[]
}

/** Rejected calls of a source that are kept. */
const keptMax = 20
const messageIdLengthMax = 200
const messageLengthMax = 500

interface Counts {
  readonly accepted: Record<AddOutcome, number>
  readonly rejected: Partial<Record<RejectionCode, number>>
  readonly latestRejected: LatestRejected[]
}

/** Counts the calls of each source in this process, and keeps the last rejected ones. */
export class SourceActivity {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #sources = new Map<string, Counts>()

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  /** Counts calls that came to the same end. */
  count(sourceId: string, outcome: AddOutcome | RejectionCode, count: number): void {
    const { accepted, rejected } = this.#of(sourceId)
    if (outcome in accepted) accepted[outcome as AddOutcome] += count
    else {
      const code = outcome as RejectionCode
      rejected[code] = (rejected[code] ?? 0) + count
    }
  }

  /** Keeps a rejected call, without the rest of it: it may say anything about a user. */
  reject(sourceId: string, { messageId, code, message }: Omit<LatestRejected, 'atMs'>): void {
    const { latestRejected } = this.#of(sourceId)
    latestRejected.unshift({
      atMs: this.#clock.nowMs(),
      messageId: messageId?.slice(0, messageIdLengthMax) ?? null,
      code,
      message: message.slice(0, messageLengthMax),
    })
    latestRejected.length = Math.min(latestRejected.length, keptMax)
  }

  /** What became of the calls of a source. */
  of(sourceId: string): SourceCounts {
    return this.#sources.get(sourceId) ?? newCounts()
  }

  #of(sourceId: string): Counts {
    let counts = this.#sources.get(sourceId)
    if (counts === undefined) {
      counts = newCounts()
      this.#sources.set(sourceId, counts)
    }
    return counts
  }
}

function newCounts(): Counts {
  const accepted = { routed: 0, filtered: 0, duplicate: 0, suppressed: 0 }
  return { accepted, rejected: {}, latestRejected: [] }
}
