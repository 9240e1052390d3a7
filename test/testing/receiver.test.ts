import { describe, expect, onTestFinished, test } from 'vitest'
import { signBody } from '../../src/webhook/index.ts'
import { ExpectationError, startReceiver } from '../../src/testing/index.ts'

const track = { type: 'track', userId: 'u_1', event: 'Order Completed', properties: { total: 42 } }

/** Sends a webhook as a sender does that knows the secret. */
async function send(url: string, secret: string, webhook: object = track): Promise<number> {
  const body = JSON.stringify(webhook)
  const headers = { 'x-signature': signBody(body, secret) }
  return (await fetch(url, { method: 'POST', body, headers })).status
}

describe('startReceiver', () => {
  test('gives a receiver with a secret that is none, and tells what arrived', async () => {
    await using receiver = await startReceiver()
    expect(receiver.secret).toBe('not-a-real-secret')
    const arrived = receiver.expect({
      type: 'track',
      event: /^Order/,
      properties: { total: expect.any(Number) as number },
    })
    expect(await send(receiver.url, receiver.secret)).toBe(200)
    expect(await arrived).toMatchObject([{ signature: 'valid', body: track }])
    expect(receiver.events).toHaveLength(1)
  })

  test('says what came instead', async () => {
    await using receiver = await startReceiver()
    await send(receiver.url, receiver.secret)
    const unmet = receiver.expect('type:track event:"Order Refunded"', { timeoutMs: 0 })
    await expect(unmet).rejects.toThrow(ExpectationError)
    await expect(unmet).rejects.toThrow(/! event +"Order Refunded" +"Order Completed"/)
  })

  test('takes the options of a receiver, and another plan while it runs', async () => {
    await using receiver = await startReceiver({ secret: 'k', respond: '503,200' })
    expect(receiver.secret).toBe('k')
    expect(await send(receiver.url, 'k')).toBe(503)
    receiver.respond(429)
    expect(await send(receiver.url, 'k')).toBe(429)
  })

  test('leaves no port behind', async () => {
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    await receiver.close()
    await expect(send(receiver.url, receiver.secret)).rejects.toThrow('fetch failed')
  })
})
