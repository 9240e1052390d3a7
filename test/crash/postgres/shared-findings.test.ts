import { describe, expect, test } from 'vitest'
import { emptyLedger } from '../../../src/model/index.ts'
import { deliveryKey, sharedFindingsOf, type SharedRecord } from './shared-findings.ts'

/** A message to two destinations, by the processes from which the first one took it. */
function recordOf(messageId: string, taken: readonly number[]): SharedRecord {
  const message = { messageId, writeKey: 'wk_website', destinationIds: ['crm', 'mail'] }
  const takenFrom = new Map([
    ['crm', taken],
    ['mail', [1]],
  ])
  return { message, isAcknowledged: true, takenFrom }
}

/** What is found of messages, of which `m_1` was taken as it should be, where a process was killed. */
function findingsOf(
  taken: readonly number[],
  failed: Readonly<Record<string, number>> = {},
): readonly string[] {
  const records = [recordOf('m_1', [1]), recordOf('m_2', taken)]
  const deliveries = { delivered: 4, failed: 0, expired: 0 }
  return sharedFindingsOf({
    records,
    killed: new Set([3]),
    failedRequests: new Map(Object.entries(failed)),
    inFlight: new Map(),
    audit: {
      ledger: { ...emptyLedger, ...deliveries, accepted: 2, routed: 2, deliveries: 4 },
      counted: { ...deliveries, pending: 0 },
      purged: { delivered: 0, failed: 0, expired: 0 },
      withoutBody: 0,
    },
  })
}

const fromOne = '1 messages were taken twice from one process: m_2'
const again = '1 messages were taken again from one that lives: m_2'

describe('findings of an installation', () => {
  test('are none where each was taken once, or again because its process was killed', () => {
    expect(findingsOf([2])).toEqual([])
    expect(findingsOf([3, 2])).toEqual([])
  })

  test('name what was taken again', () => {
    expect(findingsOf([1, 2])).toEqual([again])
    expect(findingsOf([1, 1])).toEqual([again, fromOne])
    expect(findingsOf([3, 3])).toEqual([fromOne])
  })

  test('allow it for each request of the same delivery that failed', () => {
    const key = deliveryKey('m_2', 'crm')
    expect(findingsOf([1, 1], { [key]: 1 })).toEqual([])
    expect(findingsOf([1, 2, 2], { [key]: 2 })).toEqual([])
    expect(findingsOf([1, 2, 2], { [key]: 1 })).toEqual([again])
    const others = { [deliveryKey('m_1', 'crm')]: 9, [deliveryKey('m_2', 'mail')]: 9 }
    expect(findingsOf([1, 2], others)).toEqual([again])
  })
})
