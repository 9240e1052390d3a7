import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { imbalances, type Ledger } from '../../src/model/index.ts'

const balanced: Ledger = {
  read: 12,
  rejected: 2,
  accepted: 10,
  routed: 4,
  filtered: 3,
  duplicate: 2,
  suppressed: 1,
  deliveries: 8,
  delivered: 4,
  failed: 2,
  expired: 1,
  pending: 1,
}

describe('imbalances', () => {
  test('finds nothing in a balanced ledger', () => {
    expect(imbalances(balanced)).toEqual([])
  })

  test('names the equation that does not hold, with its figures', () => {
    expect(imbalances({ ...balanced, read: 13 })).toEqual([
      { equation: 'read 13 is not accepted 10 + rejected 2' },
    ])
    expect(imbalances({ ...balanced, routed: 5 })).toEqual([
      { equation: 'accepted 10 is not routed 5 + filtered 3 + duplicate 2 + suppressed 1' },
    ])
    expect(imbalances({ ...balanced, pending: 0 })).toEqual([
      { equation: 'deliveries 8 is not delivered 4 + failed 2 + expired 1 + pending 0' },
    ])
  })

  test('names every equation that does not hold', () => {
    expect(imbalances({ ...balanced, accepted: 11, delivered: 5 })).toHaveLength(3)
  })

  test('detects any single wrong figure', () => {
    const names = Object.keys(balanced) as (keyof Ledger)[]
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.integer({ min: 1, max: 9 }), (name, by) => {
        expect(imbalances({ ...balanced, [name]: balanced[name] + by })).not.toEqual([])
      }),
    )
  })
})
