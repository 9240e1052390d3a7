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

/** What a store says that delivered so many. */
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
  test('are none where every message was acknowledged, taken and settled', () => {
    const records = recordsOf(delivered, delivered)
    expect(findingsOf({ records, audit: auditOf(2) })).toEqual([])
  })

  test('are none where a process died between an answer and its settlement', () => {
    const records = recordsOf({
      acknowledgements: ['routed', 'duplicate'],
      answeredTo: [0, 2],
      settlements: [{ process: 2, state: 'delivered' }],
    })
    expect(findingsOf({ records, audit: auditOf(1) })).toEqual([])
    expect(figuresOf({ records })).toMatchObject({ duplicates: 1, duplicatesMax: 1 })
  })

  test.each<readonly [string, Partial<MessageRecord>]>([
    ['were never acknowledged', { acknowledgements: [] }],
    ['were acknowledged and lost', { answeredTo: [] }],
    ['were accepted twice', { acknowledgements: ['routed', 'routed'] }],
    ['were taken twice from one process', { answeredTo: [1, 1] }],
    ['were sent again after they were settled', { answeredTo: [1, 2] }],
    ['came to another end', { settlements: [{ process: 1, state: 'expired' }] }],
  ])('name messages that %s', (words, difference) => {
    const records = recordsOf(delivered, { ...delivered, ...difference })
    expect(findingsOf({ records, audit: auditOf(2) })).toContainEqual(
      expect.stringMatching(new RegExp(`^1 messages ${words}.*: m_2$`)),
    )
  })

  test('name more duplicates than there may be', () => {
    const records = recordsOf({ ...delivered, answeredTo: [1, 1] })
    expect(findingsOf({ records, audit: auditOf(1) })).toContain(
      '1 duplicates are more than the 0 there may be',
    )
  })

  test('name a process that had more unsettled than it may', () => {
    const unsettled = { ...delivered, settlements: [] }
    const records = recordsOf(...Array.from({ length: unsettledMax + 1 }, () => unsettled))
    expect(findingsOf({ records, audit: auditOf(records.size) })).toEqual([
      `${unsettledMax + 1} answers were unsettled at once, of ${unsettledMax} at the most`,
    ])
  })

  test.each<readonly [string, StoreAudit]>([
    ['accepted 1 is not', { ...auditOf(1), ledger: { ...auditOf(1).ledger, filtered: 1 } }],
    ['2 events routed, not 1', auditOf(2)],
    ['0 deliveries delivered, not 1', auditOf(0)],
    [
      '1 deliveries pending, not 0',
      { ...auditOf(1), ledger: { ...auditOf(1).ledger, pending: 1 } },
    ],
    ['1 deliveries without a body, not 0', { ...auditOf(1), withoutBody: 1 }],
    [
      '1 deliveries counted as pending, not 0',
      { ...auditOf(1), counted: { ...auditOf(1).counted, pending: 1 } },
    ],
    [
      '2 deliveries counted or purged as delivered, not 1',
      { ...auditOf(1), purged: { delivered: 1, failed: 0, expired: 0 } },
    ],
  ])('name books in which %s', (words, audit) => {
    expect(findingsOf({ records: recordsOf(delivered), audit })).toContainEqual(
      expect.stringContaining(words),
    )
  })
})
