import { describe, expect, test } from 'vitest'
import { Books } from '../../src/client/books.ts'

/** Books of which calls fail, numbered from 1. */
class FailingBooks extends Books {
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

describe('Before closing, Books', () => {
  test('keeps the newest failures, oldest first', () => {
    const books = new FailingBooks({ callsMax: 3, bytesMax: 1_000 })
    expect(books.kept).toEqual([])
    for (let number = 1; number <= 100; number++) {
      books.fail(number)
      const first = Math.max(1, number - 2)
      expect(books.kept).toEqual([first, first + 1, first + 2].slice(0, number))
    }
  })

  test('keeps failures whose JSON fits into the limit of bytes', () => {
    const books = new FailingBooks({ callsMax: 100, bytesMax: 10 })
    for (const [index, json] of ['"é"', '"ab"', '12'].entries()) books.fail(index + 1, json)
    expect(books.kept).toEqual([1, 2, 3])
    books.fail(4, '1')
    expect(books.kept).toEqual([2, 3, 4])
    books.fail(5, '"longer than all"')
    expect(books.kept).toEqual([])
  })

  test('keeps the newest 16 MB, and all that fail later', () => {
    const books = new FailingBooks({ callsMax: 1_000 })
    const json = JSON.stringify('x'.repeat(32_000))
    for (let number = 1; number <= 600; number++) books.fail(number, json)
    const keptCount = Math.floor((16 * 1024 * 1024) / json.length)
    expect(books.kept).toHaveLength(keptCount)
    expect(books.kept.at(-1)).toBe(600)
    expect(books.report().undeliveredOmitted).toBe(600 - keptCount)
    books.closing()
    for (let number = 601; number <= 700; number++) books.fail(number, json)
    expect(books.report()).toMatchObject({ failed: 700, undeliveredOmitted: 600 - keptCount })
    expect(books.kept).toHaveLength(keptCount + 100)
  })
})

test('Once closing, Books keeps more failures than its limit', () => {
  const books = new FailingBooks({ callsMax: 2, bytesMax: 1_000 })
  for (const number of [1, 2, 3]) books.fail(number)
  books.closing()
  for (const number of [4, 5, 6]) books.fail(number)
  expect(books.kept).toEqual([2, 3, 4, 5, 6])
})
