import { describe, expect, test } from 'vitest'
import type { StoreAudit } from '../../src/delivery/index.ts'
import { emptyLedger } from '../../src/model/index.ts'
import { unsettledMax } from './deliverer-settings.ts'
import { figuresOf, findingsOf } from './findings.ts'
import type { MessageRecord } from './witness.ts'

const delivered: MessageRecord = {
  acknowledgements: ['routed'],
  answeredTo: [1],
  settlements: [{ process: 1, state: 'delivered' }],
}

function recordsOf(...records: readonly MessageRecord[]): ReadonlyMap<string, MessageRecord> {
  return new Map(records.map((record, index) => [`m_${index + 1}`, record]))
}

/** The audit of a store that delivered this many messages. */
function auditOf(count: number): StoreAudit {
  const ended = { delivered: count, failed: 0, expired: 0 }
  const events = { accepted: count, routed: count, deliveries: count }
  return {
    ledger: { ...emptyLedger, ...events, ...ended },
    counted: { ...ended, pending: 0 },
    purged: { delivered: 0, failed: 0, expired: 0 },
    withoutBody: 0,
  }
}

describe('findings of a run', () => {
  test('are empty if every message was acknowledged, delivered and settled', () => {
    const records = recordsOf(delivered, delivered)
    expect(findingsOf({ records, audit: auditOf(2) })).toEqual([])
  })

  test('are empty if a process was killed between an answer and its settlement', () => {
    const records = recordsOf({
      acknowledgements: ['routed', 'duplicate'],
      answeredTo: [0, 2],
      settlements: [{ process: 2, state: 'delivered' }],
    })
    expect(findingsOf({ records, audit: auditOf(1) })).toEqual([])
    expect(figuresOf({ records })).toMatchObject({ duplicates: 1, duplicatesMax: 1 })
  })

  test.each<readonly [string, Partial<MessageRecord>]>([
    ['never acknowledged', { acknowledgements: [] }],
    ['acknowledged and lost', { answeredTo: [] }],
    ['accepted twice', { acknowledgements: ['routed', 'routed'] }],
    ['delivered twice by one process', { answeredTo: [1, 1] }],
    ['sent again after they were settled', { answeredTo: [1, 2] }],
    ['not settled as delivered', { settlements: [{ process: 1, state: 'expired' }] }],
  ])('name messages that were %s', (words, difference) => {
    const records = recordsOf(delivered, { ...delivered, ...difference })
    expect(findingsOf({ records, audit: auditOf(2) })).toContainEqual(
      expect.stringMatching(new RegExp(`^Messages ${words}: 1 \\(m_2\\)$`)),
    )
  })

  test('report more duplicates than are allowed', () => {
    const records = recordsOf({ ...delivered, answeredTo: [1, 1] })
    expect(findingsOf({ records, audit: auditOf(1) })).toContain(
      'Duplicates: 1, more than the allowed 0',
    )
  })

  test('report a process with more unsettled answers than are allowed', () => {
    const unsettled = { ...delivered, settlements: [] }
    const records = recordsOf(...Array.from({ length: unsettledMax + 1 }, () => unsettled))
    expect(findingsOf({ records, audit: auditOf(records.size) })).toEqual([
      `Unsettled answers of one process: ${unsettledMax + 1}, more than the allowed ${unsettledMax}`,
    ])
  })

  test.each<readonly [string, StoreAudit]>([
    ['accepted 1 is not', { ...auditOf(1), ledger: { ...auditOf(1).ledger, filtered: 1 } }],
    ['Events routed: 2, not 1', auditOf(2)],
    ['Deliveries delivered: 0, not 1', auditOf(0)],
    [
      'Deliveries pending: 1, not 0',
      { ...auditOf(1), ledger: { ...auditOf(1).ledger, pending: 1 } },
    ],
    ['Deliveries without a body: 1, not 0', { ...auditOf(1), withoutBody: 1 }],
    [
      'Deliveries counted as pending: 1, not 0',
      { ...auditOf(1), counted: { ...auditOf(1).counted, pending: 1 } },
    ],
    [
      'Deliveries counted or purged as delivered: 2, not 1',
      { ...auditOf(1), purged: { delivered: 1, failed: 0, expired: 0 } },
    ],
  ])('report a wrong audit: %s', (words, audit) => {
    expect(findingsOf({ records: recordsOf(delivered), audit })).toContainEqual(
      expect.stringContaining(words),
    )
  })
})
