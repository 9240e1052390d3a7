import { expect, test } from 'vitest'
import { Turns } from '../../src/tracking-api/turns.ts'
import { gate } from '../support/gate.ts'

test('runs a few tasks at once, the others in their order, also after one fails', async () => {
  const turns = new Turns(2)
  const gates = [gate(), gate(), gate(), gate()]
  const begun: number[] = []
  const tasks = gates.map(({ opened }, index) =>
    turns.take(async () => {
      begun.push(index)
      await opened
      if (index === 1) throw new Error('failed')
      return index
    }),
  )
  const results = Promise.allSettled(tasks)
  expect(begun).toEqual([0, 1])
  gates[1]?.open()
  await Promise.allSettled([tasks[1]])
  expect(begun).toEqual([0, 1, 2])
  for (const { open } of gates) open()
  expect((await results).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
  ])
  expect(begun).toEqual([0, 1, 2, 3])
})
