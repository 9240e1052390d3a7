import { describe, expect, test } from 'vitest'
import { CallLedger } from '../../src/client/call-ledger.ts'

/** A ledger in which these calls, numbered from 1, fail. */
class FailingLedger extends CallLedger {
  fail(number: number, json = '{}'): void {
    const [type, code, message] = ['track', 'http_404', 'Gone'] as const
    this.queued()
    this.failed({
      status: 'failed',
      messageId: `m-${number}`,
      type,
      json,
      code,
      message,
      attempts: 1,
    })
  }

  get kept(): readonly number[] {
    return this.report().undelivered.map(({ messageId }) => Number(messageId.slice(2)))
  }
}

describe('CallLedger before closing', () => {
  test('keeps the newest failures, oldest first', () => {
    const ledger = new FailingLedger({ callsMax: 3, bytesMax: 1_000 })
    expect(ledger.kept).toEqual([])
    for (let number = 1; number <= 100; number++) {
      ledger.fail(number)
      const first = Math.max(1, number - 2)
      expect(ledger.kept).toEqual([first, first + 1, first + 2].slice(0, number))
    }
  })

  test('keeps failures up to a number of JSON bytes', () => {
    const ledger = new FailingLedger({ callsMax: 100, bytesMax: 10 })
    for (const [index, json] of ['"é"', '"ab"', '12'].entries()) ledger.fail(index + 1, json)
    expect(ledger.kept).toEqual([1, 2, 3])
    ledger.fail(4, '1')
    expect(ledger.kept).toEqual([2, 3, 4])
    ledger.fail(5, '"longer than all"')
    expect(ledger.kept).toEqual([])
  })

  test('keeps the newest 16 MB by default, and everything that fails once closing has begun', () => {
    const ledger = new FailingLedger({ callsMax: 1_000 })
    const json = JSON.stringify('x'.repeat(32_000))
    for (let number = 1; number <= 600; number++) ledger.fail(number, json)
    const keptCount = Math.floor((16 * 1024 * 1024) / json.length)
    expect(ledger.kept).toHaveLength(keptCount)
    expect(ledger.kept.at(-1)).toBe(600)
    expect(ledger.report().undeliveredOmitted).toBe(600 - keptCount)
    ledger.closing()
    for (let number = 601; number <= 700; number++) ledger.fail(number, json)
    expect(ledger.report()).toMatchObject({ failed: 700, undeliveredOmitted: 600 - keptCount })
    expect(ledger.kept).toHaveLength(keptCount + 100)
  })
})

test('CallLedger keeps more failures than its limit once closing has begun', () => {
  const ledger = new FailingLedger({ callsMax: 2, bytesMax: 1_000 })
  for (const number of [1, 2, 3]) ledger.fail(number)
  ledger.closing()
  for (const number of [4, 5, 6]) ledger.fail(number)
  expect(ledger.kept).toEqual([2, 3, 4, 5, 6])
})
