import type { StoreAudit } from '../../src/delivery/index.ts'
import { imbalances } from '../../src/model/index.ts'
import { unsettledMax } from './deliverer-settings.ts'
import type { MessageRecord } from './witness.ts'

/** What was seen of a run, from outside and in its store. */
export interface Evidence {
  /** Every message that was to be sent. */
  readonly records: ReadonlyMap<string, MessageRecord>
  /** What the store said of itself in the end. */
  readonly audit: StoreAudit
}

/** What comes out of it in figures. */
export interface Figures {
  /** Messages that were acknowledged. */
  readonly acknowledged: number
  /** Messages that were answered 2xx. */
  readonly answered: number
  /** Answers beyond the first of each message. */
  readonly duplicates: number
  /**
   * As many duplicates as there may be: answers to a process that died before it said that it had
   * settled them, each of which may be sent once more.
   */
  readonly duplicatesMax: number
  /** Of those answers, the most to one process. */
  readonly unsettledAtOnce: number
}

/** Counts. */
export function figuresOf({ records }: Pick<Evidence, 'records'>): Figures {
  const all = [...records.values()]
  const unsettled = new Map<number, number>()
  for (const process of all.flatMap(unsettledBy)) {
    unsettled.set(process, (unsettled.get(process) ?? 0) + 1)
  }
  const perProcess = [...unsettled.values()]
  return {
    acknowledged: all.filter(isAcknowledged).length,
    answered: all.filter(isAnswered).length,
    duplicates: sum(all.map(({ answeredTo }) => Math.max(answeredTo.length - 1, 0))),
    duplicatesMax: sum(perProcess),
    unsettledAtOnce: Math.max(0, ...perProcess),
  }
}

/** Everything that is not as it must be; an empty list means that nothing was lost or done in vain. */
export function findingsOf(evidence: Evidence): readonly string[] {
  return [
    ...findingsOfMessages(evidence.records),
    ...findingsOfFigures(figuresOf(evidence)),
    ...findingsOfAudit(evidence),
  ]
}

function findingsOfMessages(records: ReadonlyMap<string, MessageRecord>): readonly string[] {
  const faults: readonly (readonly [string, (record: MessageRecord) => boolean])[] = [
    ['were never acknowledged', (record) => !isAcknowledged(record)],
    ['were acknowledged and lost', (record) => isAcknowledged(record) && !isAnswered(record)],
    ['were accepted twice', isAcceptedTwice],
    ['were taken twice from one process', isAnsweredTwiceByOne],
    ['were sent again after they were settled', isAnsweredAfterEnd],
    ['came to another end than delivered', isNotDelivered],
  ]
  return faults.flatMap(([words, isFaulty]) => {
    const ids = [...records].filter(([, record]) => isFaulty(record)).map(([id]) => id)
    const examples = ids.slice(0, examplesMax).join(', ')
    return ids.length === 0 ? [] : [`${ids.length} messages ${words}: ${examples}`]
  })
}

function findingsOfFigures(figures: Figures): readonly string[] {
  const { duplicates, duplicatesMax, unsettledAtOnce } = figures
  const findings: string[] = []
  if (duplicates > duplicatesMax) {
    findings.push(`${duplicates} duplicates are more than the ${duplicatesMax} there may be`)
  }
  if (unsettledAtOnce > unsettledMax) {
    findings.push(
      `${unsettledAtOnce} answers were unsettled at once, of ${unsettledMax} at the most`,
    )
  }
  return findings
}

function findingsOfAudit({ records, audit }: Evidence): readonly string[] {
  const { ledger, counted, purged, withoutBody } = audit
  const expected: readonly (readonly [string, number, number])[] = [
    ['events routed', ledger.routed, records.size],
    ['deliveries delivered', ledger.delivered, records.size],
    ['deliveries pending', ledger.pending, 0],
    ['deliveries without a body', withoutBody, 0],
    ['deliveries counted as pending', counted.pending, ledger.pending],
    ...(['delivered', 'failed', 'expired'] as const).map(
      (state) =>
        [
          `deliveries counted or purged as ${state}`,
          counted[state] + purged[state],
          ledger[state],
        ] as const,
    ),
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

function isAcknowledged({ acknowledgements }: MessageRecord): boolean {
  return acknowledgements.length > 0
}

function isAnswered({ answeredTo }: MessageRecord): boolean {
  return answeredTo.length > 0
}

function isAcceptedTwice({ acknowledgements }: MessageRecord): boolean {
  return acknowledgements.filter((outcome) => outcome !== 'duplicate').length > 1
}

function isAnsweredTwiceByOne({ answeredTo }: MessageRecord): boolean {
  return new Set(answeredTo).size < answeredTo.length
}

function isAnsweredAfterEnd({ answeredTo, settlements }: MessageRecord): boolean {
  return settlements.some((settlement) =>
    answeredTo.some((process) => process > settlement.process),
  )
}

function isNotDelivered({ settlements }: MessageRecord): boolean {
  return settlements.some(({ state }) => state !== 'delivered')
}

/** The processes that had it taken and did not say that they settled it. */
function unsettledBy({ answeredTo, settlements }: MessageRecord): readonly number[] {
  const settledBy = new Set(settlements.map(({ process }) => process))
  return [...new Set(answeredTo)].filter((process) => !settledBy.has(process))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
