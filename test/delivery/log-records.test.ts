import { describe, expect, test } from 'vitest'
import { auditRecord, isoOrNull, type StoreAudit } from '../../src/delivery/index.ts'
import { emptyLedger } from '../../src/model/index.ts'

const audit: StoreAudit = {
  ledger: emptyLedger,
  counted: { delivered: 0, failed: 0, expired: 0, pending: 0 },
  purged: { delivered: 0, failed: 0, expired: 0 },
  withoutBody: 0,
}

describe('isoOrNull', () => {
  test('writes the nearest time that a date can represent', () => {
    expect(isoOrNull(0)).toBe('1970-01-01T00:00:00.000Z')
    expect(isoOrNull(1e300)).toBe('+275760-09-13T00:00:00.000Z')
    expect(isoOrNull(-1e300)).toBe('-271821-04-20T00:00:00.000Z')
    expect(isoOrNull(null)).toBeNull()
  })
})

describe('auditRecord', () => {
  test('contains the figures, and every equation that does not hold', () => {
    expect(auditRecord(audit)).toEqual({ kind: 'audit', balanced: true, ...audit, imbalances: [] })
    const wrong = { ...audit, withoutBody: 2 }
    expect(auditRecord(wrong)).toEqual({
      kind: 'audit',
      balanced: false,
      ...wrong,
      imbalances: [{ equation: '2 deliveries without a body = 0', difference: 2 }],
    })
  })
})
