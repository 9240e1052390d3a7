import type { StoreAudit } from '../../../src/delivery/index.ts'
import { imbalances } from '../../../src/model/index.ts'
import type { Message } from './load.ts'

/** What was seen of one message. */
export interface SharedRecord {
  readonly message: Message
  /** Whether a process has answered for it. */
  readonly isAcknowledged: boolean
  /** By destination, the numbers of the processes from which it was taken. */
  readonly takenFrom: ReadonlyMap<string, readonly number[]>
}

/** What was seen of a run, from outside and in its store. */
export interface SharedEvidence {
  readonly records: readonly SharedRecord[]
  /** The processes that were killed. */
  readonly killed: ReadonlySet<number>
  /**
   * Requests that failed, as the log has them, by their delivery as {@link deliveryKey} names it: what an
   * endpoint took too late is sent again.
   */
  readonly failedRequests: ReadonlyMap<string, number>
  /** What each endpoint may have in flight, and the most that it had. */
  readonly inFlight: ReadonlyMap<string, { readonly cap: number; readonly most: number }>
  /** What the store said of itself in the end. */
  readonly audit: StoreAudit
}

/** What comes out of it in figures. */
export interface SharedFigures {
  readonly messages: number
  readonly deliveries: number
  /** Webhooks beyond the first of each delivery. */
  readonly duplicates: number
}

/** Names a delivery. */
export function deliveryKey(messageId: string, destinationId: string): string {
  return `${messageId} ${destinationId}`
}

/** Counts. */
export function sharedFiguresOf({ records }: Pick<SharedEvidence, 'records'>): SharedFigures {
  const taken = records.flatMap(({ takenFrom }) => [...takenFrom.values()])
  return {
    messages: records.length,
    deliveries: sum(records.map(({ message }) => message.destinationIds.length)),
    duplicates: sum(taken.map(({ length }) => length - 1)),
  }
}

/** Everything that is not as it must be; an empty list means that nothing was lost or done in vain. */
export function sharedFindingsOf(evidence: SharedEvidence): readonly string[] {
  return [
    ...findingsOfMessages(evidence),
    ...findingsOfEndpoints(evidence),
    ...findingsOfAudit(evidence),
  ]
}

function findingsOfMessages(evidence: SharedEvidence): readonly string[] {
  const { records } = evidence
  const faults: readonly (readonly [string, (record: SharedRecord) => boolean])[] = [
    ['were never acknowledged', ({ isAcknowledged }) => !isAcknowledged],
    ['were acknowledged and lost', isLost],
    ['were taken again from one that lives', isTakenAgain(inVain(evidence), evidence)],
    ['were taken twice from one process', isTakenAgain(fromOneProcess, evidence)],
  ]
  return faults.flatMap(([words, isFaulty]) => {
    const ids = records.filter(isFaulty).map(({ message }) => message.messageId)
    const examples = ids.slice(0, examplesMax).join(', ')
    return ids.length === 0 ? [] : [`${ids.length} messages ${words}: ${examples}`]
  })
}

function findingsOfEndpoints({ inFlight }: SharedEvidence): readonly string[] {
  return [...inFlight]
    .filter(([, { cap, most }]) => most > cap)
    .map(([id, { cap, most }]) => `${id} had ${most} requests in flight, of ${cap} at the most`)
}

function findingsOfAudit({ records, audit }: SharedEvidence): readonly string[] {
  const { ledger, counted, purged, withoutBody } = audit
  const deliveries = sum(records.map(({ message }) => message.destinationIds.length))
  const expected: readonly (readonly [string, number, number])[] = [
    ['events routed', ledger.routed, records.length],
    ['deliveries delivered', ledger.delivered, deliveries],
    ['deliveries counted as delivered', counted.delivered + purged.delivered, deliveries],
    ['deliveries failed or expired', ledger.failed + ledger.expired, 0],
    ['deliveries pending', ledger.pending, 0],
    ['deliveries counted as pending', counted.pending, 0],
    ['deliveries without a body', withoutBody, 0],
  ]
  return [
    ...imbalances({ ...ledger, read: ledger.accepted, rejected: 0 }).map(
      ({ equation }) => equation,
    ),
    ...expected
      .filter(([, figure, right]) => figure !== right)
      .map(([words, figure, right]) => `${figure} ${words}, not ${right}`),
  ]
}

const examplesMax = 3

function isLost({ message, isAcknowledged, takenFrom }: SharedRecord): boolean {
  return isAcknowledged && message.destinationIds.some((id) => !takenFrom.has(id))
}

/** Whether a delivery was taken again more often than a request of it failed. */
function isTakenAgain(
  count: (from: readonly number[]) => number,
  { failedRequests }: Pick<SharedEvidence, 'failedRequests'>,
) {
  return ({ message, takenFrom }: SharedRecord): boolean =>
    [...takenFrom].some(([destinationId, from]) => {
      const failed = failedRequests.get(deliveryKey(message.messageId, destinationId)) ?? 0
      return count(from) > failed
    })
}

/** Only who died before it settled may have sent what another sends again. */
function inVain({ killed }: Pick<SharedEvidence, 'killed'>) {
  return (from: readonly number[]): number => from.filter((each) => !killed.has(each)).length - 1
}

function fromOneProcess(from: readonly number[]): number {
  return from.length - new Set(from).size
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
