import { expect, test } from 'vitest'
import { Books } from '../../src/client/books.ts'

test('lists the newest 16 MB of calls that failed before closing', () => {
  const books = new Books(1_000)
  const json = JSON.stringify('x'.repeat(32_000))
  const fail = (number: number): void => {
    books.queued()
    books.failed({
      status: 'failed',
      messageId: `m-${number}`,
      type: 'track',
      json,
      code: 'http_404',
      message: 'Gone',
      attempts: 1,
    })
  }
  for (let number = 1; number <= 600; number++) fail(number)
  const keptCount = Math.floor((16 * 1024 * 1024) / json.length)
  const { undelivered, undeliveredOmitted } = books.report()
  expect(undelivered).toHaveLength(keptCount)
  expect(undelivered.at(-1)).toMatchObject({ messageId: 'm-600' })
  expect(undeliveredOmitted).toBe(600 - keptCount)

  books.closing()
  for (let number = 601; number <= 700; number++) fail(number)
  expect(books.report()).toMatchObject({ failed: 700, undeliveredOmitted: 600 - keptCount })
  expect(books.report().undelivered).toHaveLength(keptCount + 100)
})
