import { expect, test } from 'vitest'
import type { AddOutcome, NewEvent } from '../../src/delivery/index.ts'
import { AddingBytes } from '../../src/pipeline/index.ts'
import { countSurvivors } from '../support/collect-garbage.ts'
import { gate } from '../support/gate.ts'

function event(body: string): NewEvent {
  const deliveries = [{ destinationId: 'crm', body }]
  return { sourceId: 'website', messageId: 'm_1', type: 'track', userId: 'u_1', deliveries }
}

const large = 'x'.repeat(8 * 1024 * 1024)

test('a store with a large backlog reports that it is full until it has written some', async () => {
  const { opened, open } = gate()
  const adding = new AddingBytes()
  const adds = [1, 2].map(() => adding.add([event(large)], () => opened.then(() => ['routed'])))
  expect(adding.isFull).toBe(true)
  open()
  await Promise.all(adds)
  expect(adding.isFull).toBe(false)
})

test('events for no destination fill a store that does not answer', () => {
  const adding = new AddingBytes()
  const events = Array.from({ length: 4_000 }, () => ({ ...event(''), deliveries: [] }))
  for (let batch = 0; batch < 10; batch++) {
    void adding.add(events, () => new Promise(() => undefined))
  }
  expect(adding.isFull).toBe(true)
})

test('refused events no longer count as waiting', async () => {
  const adding = new AddingBytes()
  const refused = adding.add([event(large), event(large)], () => Promise.reject(new Error('no')))
  expect(adding.isFull).toBe(true)
  await expect(refused).rejects.toThrow('no')
  expect(adding.isFull).toBe(false)
})

test('events are counted without being retained', async () => {
  const { opened, open } = gate()
  const counted = new AddingBytes()
  const addOne = (): readonly [WeakRef<NewEvent>, Promise<readonly AddOutcome[]>] => {
    const added = event('{}')
    return [new WeakRef(added), counted.add([added], () => opened.then(() => ['routed']))]
  }
  const [added, adding] = addOne()
  expect(await countSurvivors([added])).toBe(0)
  open()
  expect(await adding).toEqual(['routed'])
})
