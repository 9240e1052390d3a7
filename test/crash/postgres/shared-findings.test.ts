import { describe, expect, test } from 'vitest'
import { emptyLedger } from '../../../src/model/index.ts'
import { deliveryKey, sharedFindingsOf, type SharedRecord } from './shared-findings.ts'

/** A message to two destinations. `delivered` lists the processes that delivered it to the first one. */
function recordOf(messageId: string, delivered: readonly number[]): SharedRecord {
  const message = { messageId, writeKey: 'wk_website', destinationIds: ['crm', 'mail'] }
  const deliveredBy = new Map([
    ['crm', delivered],
    ['mail', [1]],
  ])
  return { message, isAcknowledged: true, deliveredBy }
}

/** The findings about two messages, when process 3 was killed. `m_1` was delivered as it should be. */
function findingsOf(
  delivered: readonly number[],
  failed: Readonly<Record<string, number>> = {},
): readonly string[] {
  const records = [recordOf('m_1', [1]), recordOf('m_2', delivered)]
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

const fromOne = 'Messages delivered twice by one process: 1 (m_2)'
const again = 'Messages delivered again by a running process: 1 (m_2)'

describe('findings of an installation', () => {
  test('are empty if each message was delivered once, or again because its process was killed', () => {
    expect(findingsOf([2])).toEqual([])
    expect(findingsOf([3, 2])).toEqual([])
  })

  test('name messages that were delivered again', () => {
    expect(findingsOf([1, 2])).toEqual([again])
    expect(findingsOf([1, 1])).toEqual([again, fromOne])
    expect(findingsOf([3, 3])).toEqual([fromOne])
  })

  test('allow one more webhook for each failed request of the same delivery', () => {
    const key = deliveryKey('m_2', 'crm')
    expect(findingsOf([1, 1], { [key]: 1 })).toEqual([])
    expect(findingsOf([1, 2, 2], { [key]: 2 })).toEqual([])
    expect(findingsOf([1, 2, 2], { [key]: 1 })).toEqual([again])
    const others = { [deliveryKey('m_1', 'crm')]: 9, [deliveryKey('m_2', 'mail')]: 9 }
    expect(findingsOf([1, 2], others)).toEqual([again])
  })
})
