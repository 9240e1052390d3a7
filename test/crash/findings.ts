import type { StoreAudit } from '../../src/delivery/index.ts'
import { imbalances, type DeliveryLedger } from '../../src/model/index.ts'
import { unsettledMax } from './deliverer-settings.ts'
import type { MessageRecord } from './witness.ts'

/** What a run showed, from outside and in its store. */
export interface Evidence {
  /** All messages, by messageId. */
  readonly records: ReadonlyMap<string, MessageRecord>
  /** The audit of the store after the run. */
  readonly audit: StoreAudit
}

export interface Figures {
  /** Messages that were acknowledged. */
  readonly acknowledged: number
  /** Messages that were answered 2xx. */
  readonly answered: number
  /** 2xx answers beyond the first one of each message. */
  readonly duplicates: number
  /**
   * The most duplicates that are allowed: answers to processes that were killed before they reported the
   * settlement. Each of these deliveries may be sent once more.
   */
  readonly duplicatesMax: number
  /** The most of those answers to a single process. */
  readonly unsettledAtOnce: number
}

/** Computes the figures of a run. */
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

/** Lists everything that is wrong; empty if nothing was lost and nothing was sent in vain. */
export function findingsOf(evidence: Evidence): readonly string[] {
  return [
    ...findingsOfMessages(evidence.records),
    ...findingsOfFigures(figuresOf(evidence)),
    ...findingsOfAudit(evidence),
  ]
}

function findingsOfMessages(records: ReadonlyMap<string, MessageRecord>): readonly string[] {
  return faultyMessages([...records], {
    'never acknowledged': (record) => !isAcknowledged(record),
    'acknowledged and lost': (record) => isAcknowledged(record) && !isAnswered(record),
    'accepted twice': isAcceptedTwice,
    'delivered twice by one process': isAnsweredTwiceByOne,
    'sent again after they were settled': isAnsweredAfterEnd,
    'not settled as delivered': isNotDelivered,
  })
}

/** Counts the messages with each fault, and names a few of them. */
export function faultyMessages<Record>(
  records: readonly (readonly [messageId: string, record: Record])[],
  faults: Readonly<{ [fault: string]: (record: Record) => boolean }>,
): readonly string[] {
  return Object.entries(faults).flatMap(([fault, isFaulty]) => {
    const ids = records.filter(([, record]) => isFaulty(record)).map(([id]) => id)
    const examples = ids.slice(0, examplesMax).join(', ')
    return ids.length === 0 ? [] : [`Messages ${fault}: ${ids.length} (${examples})`]
  })
}

function findingsOfFigures(figures: Figures): readonly string[] {
  const { duplicates, duplicatesMax, unsettledAtOnce } = figures
  const findings: string[] = []
  if (duplicates > duplicatesMax) {
    findings.push(`Duplicates: ${duplicates}, more than the allowed ${duplicatesMax}`)
  }
  if (unsettledAtOnce > unsettledMax) {
    findings.push(
      `Unsettled answers of one process: ${unsettledAtOnce}, more than the allowed ${unsettledMax}`,
    )
  }
  return findings
}

function findingsOfAudit({ records, audit }: Evidence): readonly string[] {
  const { ledger, counted, purged, withoutBody } = audit
  return wrongFigures(ledger, [
    ['Events routed', ledger.routed, records.size],
    ['Deliveries delivered', ledger.delivered, records.size],
    ['Deliveries pending', ledger.pending, 0],
    ['Deliveries without a body', withoutBody, 0],
    ['Deliveries counted as pending', counted.pending, ledger.pending],
    ...(['delivered', 'failed', 'expired'] as const).map(
      (state) =>
        [
          `Deliveries counted or purged as ${state}`,
          counted[state] + purged[state],
          ledger[state],
        ] as const,
    ),
  ])
}

/** Lists the equations of a ledger that don't balance, and the figures that are not as expected. */
export function wrongFigures(
  ledger: DeliveryLedger,
  figures: readonly (readonly [name: string, actual: number, expected: number])[],
): readonly string[] {
  const wrong = figures.filter(([, actual, expected]) => actual !== expected)
  return [
    ...imbalances({ ...ledger, read: ledger.accepted, rejected: 0 }).map(
      ({ equation }) => equation,
    ),
    ...wrong.map(([name, actual, expected]) => `${name}: ${actual}, not ${expected}`),
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

/** The processes that got a 2xx for it, but didn't report its settlement. */
function unsettledBy({ answeredTo, settlements }: MessageRecord): readonly number[] {
  const settledBy = new Set(settlements.map(({ process }) => process))
  return [...new Set(answeredTo)].filter((process) => !settledBy.has(process))
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
