import type { StoreAudit } from '../../../src/delivery/index.ts'
import { faultyMessages, sum, wrongFigures } from '../findings.ts'
import type { Message } from './load.ts'

/** What was observed of one message. */
export interface SharedRecord {
  readonly message: Message
  /** Whether a process acknowledged it. */
  readonly isAcknowledged: boolean
  /** The numbers of the processes whose webhooks were accepted, by destination. */
  readonly deliveredBy: ReadonlyMap<string, readonly number[]>
}

/** What a run showed, from outside and in its store. */
export interface SharedEvidence {
  readonly records: readonly SharedRecord[]
  readonly killed: ReadonlySet<number>
  /**
   * Failed requests in the log, by {@link deliveryKey}. A webhook that the endpoint accepted too late is sent
   * again.
   */
  readonly failedRequests: ReadonlyMap<string, number>
  /** The concurrency of each destination, and the most requests that it had in flight. */
  readonly inFlight: ReadonlyMap<string, { readonly cap: number; readonly most: number }>
  /** The audit of the store after the run. */
  readonly audit: StoreAudit
}

export interface SharedFigures {
  readonly messages: number
  readonly deliveries: number
  /** Webhooks beyond the first of each delivery. */
  readonly duplicates: number
}

/** The key of a delivery in {@link SharedEvidence.failedRequests}. */
export function deliveryKey(messageId: string, destinationId: string): string {
  return `${messageId} ${destinationId}`
}

/** Computes the figures of a run. */
export function sharedFiguresOf({ records }: Pick<SharedEvidence, 'records'>): SharedFigures {
  const delivered = records.flatMap(({ deliveredBy }) => [...deliveredBy.values()])
  return {
    messages: records.length,
    deliveries: sum(records.map(({ message }) => message.destinationIds.length)),
    duplicates: sum(delivered.map(({ length }) => length - 1)),
  }
}

/** Lists everything that is wrong; empty if nothing was lost and nothing was sent in vain. */
export function sharedFindingsOf(evidence: SharedEvidence): readonly string[] {
  return [
    ...findingsOfMessages(evidence),
    ...findingsOfEndpoints(evidence),
    ...findingsOfAudit(evidence),
  ]
}

function findingsOfMessages(evidence: SharedEvidence): readonly string[] {
  const records = evidence.records.map((record) => [record.message.messageId, record] as const)
  return faultyMessages(records, {
    'never acknowledged': ({ isAcknowledged }) => !isAcknowledged,
    'acknowledged and lost': isLost,
    'delivered again by a running process': isRepeated(inVain(evidence), evidence),
    'delivered twice by one process': isRepeated(byOneProcess, evidence),
  })
}

function findingsOfEndpoints({ inFlight }: SharedEvidence): readonly string[] {
  return [...inFlight]
    .filter(([, { cap, most }]) => most > cap)
    .map(
      ([id, { cap, most }]) => `Requests in flight to ${id}: ${most}, more than the allowed ${cap}`,
    )
}

function findingsOfAudit({ records, audit }: SharedEvidence): readonly string[] {
  const { ledger, counted, purged, withoutBody } = audit
  const deliveries = sum(records.map(({ message }) => message.destinationIds.length))
  return wrongFigures(ledger, [
    ['Events routed', ledger.routed, records.length],
    ['Deliveries delivered', ledger.delivered, deliveries],
    ['Deliveries counted as delivered', counted.delivered + purged.delivered, deliveries],
    ['Deliveries failed or expired', ledger.failed + ledger.expired, 0],
    ['Deliveries pending', ledger.pending, 0],
    ['Deliveries counted as pending', counted.pending, 0],
    ['Deliveries without a body', withoutBody, 0],
  ])
}

function isLost({ message, isAcknowledged, deliveredBy }: SharedRecord): boolean {
  return isAcknowledged && message.destinationIds.some((id) => !deliveredBy.has(id))
}

/** Whether a delivery was repeated more often than requests of it failed. */
function isRepeated(
  count: (from: readonly number[]) => number,
  { failedRequests }: Pick<SharedEvidence, 'failedRequests'>,
) {
  return ({ message, deliveredBy }: SharedRecord): boolean =>
    [...deliveredBy].some(([destinationId, from]) => {
      const failed = failedRequests.get(deliveryKey(message.messageId, destinationId)) ?? 0
      return count(from) > failed
    })
}

/** Counts repetitions by running processes. A killed one may have died before it settled the delivery. */
function inVain({ killed }: Pick<SharedEvidence, 'killed'>) {
  return (from: readonly number[]): number => from.filter((each) => !killed.has(each)).length - 1
}

function byOneProcess(from: readonly number[]): number {
  return from.length - new Set(from).size
}
