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
  /** Requests that failed, as the log has them: what an endpoint took too late is sent again. */
  readonly failedRequests: number
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
  const { records, killed, failedRequests } = evidence
  const faults: readonly (readonly [string, (record: SharedRecord) => boolean, number])[] = [
    ['were never acknowledged', ({ isAcknowledged }) => !isAcknowledged, 0],
    ['were acknowledged and lost', isLost, 0],
    ['were taken again from one that lives', isTakenInVain(killed), failedRequests],
    ['were taken twice from one process', isTakenTwiceFromOne, failedRequests],
  ]
  return faults.flatMap(([words, isFaulty, allowed]) => {
    const ids = records.filter(isFaulty).map(({ message }) => message.messageId)
    const examples = ids.slice(0, examplesMax).join(', ')
    return ids.length <= allowed ? [] : [`${ids.length} messages ${words}: ${examples}`]
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

/** Only who died before it settled may have sent what another sends again. */
function isTakenInVain(killed: ReadonlySet<number>) {
  return ({ takenFrom }: SharedRecord): boolean =>
    [...takenFrom.values()].some((from) => from.filter((each) => !killed.has(each)).length > 1)
}

function isTakenTwiceFromOne({ takenFrom }: SharedRecord): boolean {
  return [...takenFrom.values()].some((from) => new Set(from).size < from.length)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
