import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Exchanges } from '../../src/client/exchanges.ts'
import { accepted, gate, ScriptedTransport } from './support.ts'

const batch = { body: '{}', callCount: 1 }

test('concurrent exchanges have a signal each', async () => {
  const { opened, open } = gate()
  const transport = new ScriptedTransport(() => opened.then(() => accepted))
  const exchanges = new Exchanges(transport)
  const outcomes = [exchanges.send(batch), exchanges.send(batch)]
  expect(new Set(transport.signals).size).toBe(2)
  open()
  expect(await Promise.all(outcomes)).toEqual([accepted, accepted])
})

test('a signal is reused by 100 successive exchanges', async () => {
  const transport = new ScriptedTransport()
  const exchanges = new Exchanges(transport)
  for (let count = 0; count < 101; count++) await exchanges.send(batch)
  expect(new Set(transport.signals.slice(0, 100)).size).toBe(1)
  expect(transport.signals[100]).not.toBe(transport.signals[0])
})

test('an exchange after abort() never gets an aborted signal', async () => {
  const { opened, open } = gate()
  const transport = new ScriptedTransport(() => opened.then(() => accepted))
  const exchanges = new Exchanges(transport)
  const abandoned = exchanges.send(batch)
  exchanges.abort()
  expect(await abandoned).toBeUndefined()
  open()
  await nextTurn()
  expect(await exchanges.send(batch)).toEqual(accepted)
  expect(transport.signals.map(({ aborted }) => aborted)).toEqual([true, false])
})

test('abort() resolves with undefined if the transport rejects at once, as one with fetch does', async () => {
  const exchanges = new Exchanges({
    send: (_, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')))
      }),
    close: () => Promise.resolve(),
  })
  const abandoned = exchanges.send(batch)
  exchanges.abort()
  expect(await abandoned).toBeUndefined()
})

test('an exchange whose transport throws at once frees its signal', async () => {
  const controllers: WeakRef<AbortSignal>[] = []
  const exchanges = new Exchanges({
    send: (_, signal) => {
      controllers.push(new WeakRef(signal))
      throw new Error('no')
    },
    close: () => Promise.resolve(),
  })
  for (let count = 0; count < 3; count++) {
    await expect(exchanges.send(batch)).rejects.toThrow('no')
  }
  expect(new Set(controllers.map((controller) => controller.deref())).size).toBe(1)
})
