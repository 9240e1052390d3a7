import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ClientEvents } from '../../src/client/events.ts'
import { lineLog, silentLog } from '../../src/runtime/index.ts'

const delivered = { status: 'delivered', messageId: 'm-1', type: 'track' } as const

test('ClientEvents calls listeners in order until they are removed', () => {
  const events = new ClientEvents(silentLog)
  const emitted: string[] = []
  const first = (): void => void emitted.push('first')
  events.on('delivered', first)
  events.on('delivered', ({ messageId }) => emitted.push(messageId))
  events.emit('delivered', delivered)
  events.off('delivered', first)
  events.emit('delivered', delivered)
  expect([events.has('delivered'), events.has('failed')]).toEqual([true, false])
  expect(emitted).toEqual(['first', 'm-1', 'm-1'])
})

test('ClientEvents logs an error of a listener and continues', async () => {
  const lines: string[] = []
  const events = new ClientEvents(lineLog((line) => lines.push(line)))
  const emitted: string[] = []
  events.on('delivered', () => {
    throw new Error('out of order')
  })
  events.on('delivered', async () => {
    await Promise.resolve()
    throw new Error('too late')
  })
  events.on('delivered', ({ messageId }) => emitted.push(messageId))
  events.emit('delivered', delivered)
  expect(emitted).toEqual(['m-1'])
  await setImmediate()
  expect(lines).toEqual([
    'warn a listener failed event=delivered error="out of order"\n',
    'warn a listener failed event=delivered error="too late"\n',
  ])
})
