import { describe, expect, test } from 'vitest'
import { auditEquations } from '../../src/delivery/audit.ts'
import type { StoreAudit } from '../../src/delivery/index.ts'

const balanced: StoreAudit = {
  ledger: {
    accepted: 19,
    routed: 10,
    filtered: 4,
    duplicate: 3,
    suppressed: 2,
    deliveries: 23,
    delivered: 11,
    failed: 7,
    expired: 3,
    pending: 2,
  },
  counted: { pending: 2, delivered: 5, failed: 6, expired: 3 },
  purged: { delivered: 6, failed: 1, expired: 0 },
  withoutBody: 0,
}

/** Returns the equations that do not hold, each with its difference. */
function wrong(audit: StoreAudit): readonly (readonly [string, number])[] {
  return auditEquations(audit)
    .filter(({ difference }) => difference !== 0)
    .map(({ whole, difference }) => [whole.name, difference])
}

describe('auditEquations', () => {
  test('returns every equation with its figures', () => {
    const inWords = auditEquations(balanced).map(
      ({ whole, parts, difference }) =>
        `${whole.count} ${whole.name} = ${parts.map(({ count, name }) => `${count} ${name}`).join(' + ')} (${difference})`,
    )
    expect(inWords).toEqual([
      '19 accepted = 10 routed + 4 filtered + 3 duplicate + 2 suppressed (0)',
      '23 deliveries = 11 delivered + 7 failed + 3 expired + 2 pending (0)',
      '2 pending = 2 in the store (0)',
      '11 delivered = 5 in the store + 6 purged (0)',
      '7 failed = 6 in the store + 1 purged (0)',
      '3 expired = 3 in the store + 0 purged (0)',
      '0 deliveries without a body =  (0)',
    ])
  })

  test.each(['accepted', 'routed', 'filtered', 'duplicate', 'suppressed'] as const)(
    'finds one event too many in %s',
    (line) => {
      const ledger = { ...balanced.ledger, [line]: balanced.ledger[line] + 1 }
      expect(wrong({ ...balanced, ledger })).toEqual([['accepted', line === 'accepted' ? 1 : -1]])
    },
  )

  test('finds a delivery that is in the ledger twice', () => {
    const ledger = { ...balanced.ledger, deliveries: 24 }
    expect(wrong({ ...balanced, ledger })).toEqual([['deliveries', 1]])
  })

  test.each(['pending', 'delivered', 'failed', 'expired'] as const)(
    'finds deliveries that are %s in the ledger, but neither in the store nor purged',
    (state) => {
      const counted = { ...balanced.counted, [state]: balanced.counted[state] - 2 }
      expect(wrong({ ...balanced, counted })).toEqual([[state, 2]])
    },
  )

  test.each(['delivered', 'failed', 'expired'] as const)(
    'counts purged deliveries: %s',
    (state) => {
      const purged = { ...balanced.purged, [state]: balanced.purged[state] + 1 }
      expect(wrong({ ...balanced, purged })).toEqual([[state, -1]])
    },
  )

  test('finds missing bodies', () => {
    expect(wrong({ ...balanced, withoutBody: 3 })).toEqual([['deliveries without a body', 3]])
  })
})
