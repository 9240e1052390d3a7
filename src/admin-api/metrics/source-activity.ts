import type { AddOutcome } from '../../delivery/index.ts'
import type { RejectionCode } from '../../model/index.ts'
import type { Clock } from '../../runtime/index.ts'

/** A rejected call, without its content. */
export interface LatestRejected {
  readonly atMs: number
  /** At most 200 characters; null if the call has no messageId. */
  readonly messageId: string | null
  readonly code: RejectionCode
  /** At most 500 characters. */
  readonly message: string
}

const keptMax = 20
const messageIdLengthMax = 200
const messageLengthMax = 500

/** Outcomes of a source's calls since this process started. */
export interface SourceCounts {
  readonly accepted: Record<AddOutcome, number>
  readonly rejected: Partial<Record<RejectionCode, number>>
  readonly latestRejected: LatestRejected[]
}

/** Counts the calls of each source in this process, and keeps the last rejected ones. */
export class SourceActivity {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #sources = new Map<string, SourceCounts>()

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  count(sourceId: string, outcome: AddOutcome | RejectionCode, count: number): void {
    const { accepted, rejected } = this.#of(sourceId)
    if (outcome in accepted) accepted[outcome as AddOutcome] += count
    else {
      const code = outcome as RejectionCode
      rejected[code] = (rejected[code] ?? 0) + count
    }
  }

  /** Keeps the messageId and reason of a rejected call. Its content may be personal data, so it is not kept. */
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

  of(sourceId: string): Readonly<SourceCounts> {
    return this.#sources.get(sourceId) ?? newCounts()
  }

  #of(sourceId: string): SourceCounts {
    let counts = this.#sources.get(sourceId)
    if (counts === undefined) {
      counts = newCounts()
      this.#sources.set(sourceId, counts)
    }
    return counts
  }
}

function newCounts(): SourceCounts {
  const accepted = { routed: 0, filtered: 0, duplicate: 0, suppressed: 0 }
  return { accepted, rejected: {}, latestRejected: [] }
}
