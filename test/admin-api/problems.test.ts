import { expect, test } from 'vitest'
import { currentLosses } from '../../src/admin-api/problems.ts'

test('an overview counts the stored losses of 100 destinations, and takes the others as counted', async () => {
  const ids = Array.from({ length: 150 }, (_, index) => `destination-${index}`)
  const lost = { deliveries: 3, reasons: ['status_404'], sinceMs: 0, lastMs: 0 }
  const counted: string[] = []
  const store = {
    countLost: ({ destinationId }: { destinationId: string }) => {
      counted.push(destinationId)
      return Promise.resolve(0)
    },
  }
  const losses = await currentLosses(ids, { store, losses: { of: () => lost } })
  expect(counted).toEqual(ids.slice(0, 100))
  expect([...losses]).toEqual(ids.slice(100).map((id) => [id, lost]))
})
