import { describe, expect, test } from 'vitest'
import { KeptFailures } from '../../src/client/kept-failures.ts'
import type { FailedCall } from '../../src/client/result.ts'

function failedCall(number: number, json = '{}'): FailedCall {
  return {
    status: 'failed',
    messageId: `m-${number}`,
    type: 'track',
    json,
    code: 'http_404',
    message: 'Gone',
    attempts: 1,
  }
}

const numbersIn = (kept: KeptFailures): readonly number[] =>
  kept.list().map(({ messageId }) => Number(messageId.slice(2)))

describe('KeptFailures', () => {
  test('keeps the newest calls, oldest first', () => {
    const kept = new KeptFailures({ callsMax: 3, bytesMax: 1_000 })
    expect(kept.list()).toEqual([])
    for (let number = 1; number <= 100; number++) {
      kept.add(failedCall(number))
      const first = Math.max(1, number - 2)
      expect(numbersIn(kept)).toEqual([first, first + 1, first + 2].slice(0, number))
    }
  })

  test('counts the bytes of their JSON', () => {
    const kept = new KeptFailures({ callsMax: 100, bytesMax: 10 })
    kept.add(failedCall(1, '"é"'))
    kept.add(failedCall(2, '"ab"'))
    kept.add(failedCall(3, '12'))
    expect(numbersIn(kept)).toEqual([1, 2, 3])
    kept.add(failedCall(4, '1'))
    expect(numbersIn(kept)).toEqual([2, 3, 4])
    kept.add(failedCall(5, '"longer than all"'))
    expect(numbersIn(kept)).toEqual([])
  })

  test('keeps everything once it is asked to', () => {
    const kept = new KeptFailures({ callsMax: 2, bytesMax: 1_000 })
    for (const number of [1, 2, 3]) kept.add(failedCall(number))
    kept.keepAll()
    for (const number of [4, 5, 6]) kept.add(failedCall(number))
    expect(numbersIn(kept)).toEqual([2, 3, 4, 5, 6])
  })
})
