import { expect, test } from 'vitest'
import { encodeEnvelope } from '../../src/client/envelope.ts'
import { createInProcessTransport, type InProcessBatch } from '../../src/client/index.ts'
import { encodedCall, startMs } from './support.ts'

const calls = [encodedCall('a'), encodedCall('b')]
const batch = {
  body: encodeEnvelope({ calls, sentAtMs: startMs, writeKey: 'wk_example' }),
  callCount: 2,
}
const { signal } = new AbortController()

test('the in-process transport passes the serialised calls on, and returns the answer', async () => {
  const arrived: InProcessBatch[] = []
  const rejected = [{ index: 1, code: 'no_event', message: 'track needs an event' }]
  const transport = createInProcessTransport((request) => {
    arrived.push(request)
    return Promise.resolve({ rejected })
  })
  expect(await transport.send(batch, signal)).toEqual({ kind: 'accepted', rejected })
  expect(arrived).toEqual([
    { calls: [{ messageId: 'a' }, { messageId: 'b' }], sentAt: '2026-01-02T03:04:05.678Z' },
  ])
  await expect(transport.close()).resolves.toBeUndefined()
})

test('the in-process transport accepts all calls if the function returns nothing', async () => {
  const transport = createInProcessTransport(() => Promise.resolve(undefined))
  expect(await transport.send(batch, signal)).toEqual({ kind: 'accepted' })
})

test('the in-process transport rejects if the function does', async () => {
  const transport = createInProcessTransport(() => Promise.reject(new Error('the store is gone')))
  await expect(transport.send(batch, signal)).rejects.toThrow('the store is gone')
})
