import { expect, test } from 'vitest'
import { Slots } from '../../src/client/slots.ts'

test('Slots gives its places in the order in which they were asked for', async () => {
  const slots = new Slots(2)
  const order: number[] = []
  const acquired = [1, 2, 3, 4, 5].map((number) => slots.acquire().then(() => order.push(number)))
  await Promise.all(acquired.slice(0, 2))
  expect(order).toEqual([1, 2])
  expect(slots.areTaken).toBe(true)
  slots.release()
  await acquired[2]
  const sixth = slots.acquire().then(() => order.push(6))
  for (let released = 0; released < 3; released++) slots.release()
  await Promise.all([...acquired, sixth])
  expect(order).toEqual([1, 2, 3, 4, 5, 6])
})

test('Slots keeps a place that nobody waits for', async () => {
  const slots = new Slots(1)
  expect(slots.areTaken).toBe(false)
  await slots.acquire()
  slots.release()
  await expect(slots.acquire()).resolves.toBeUndefined()
})
