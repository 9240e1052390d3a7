import { describe, expect, onTestFinished, test } from 'vitest'
import { signBody } from '../../src/webhook/index.ts'
import { ExpectationError, startReceiver } from '../../src/testing/index.ts'

const track = { type: 'track', userId: 'u_1', event: 'Order Completed', properties: { total: 42 } }

/** Sends a webhook that is signed with the secret. */
async function send(url: string, secret: string, webhook: object = track): Promise<number> {
  const body = JSON.stringify(webhook)
  const headers = { 'x-signature': signBody(body, secret) }
  return (await fetch(url, { method: 'POST', body, headers })).status
}

describe('startReceiver', () => {
  test('returns a receiver with a placeholder secret, which reports what arrived', async () => {
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

  test('shows what arrived instead of the expected webhook', async () => {
    await using receiver = await startReceiver()
    await send(receiver.url, receiver.secret)
    const unmet = receiver.expect('type:track event:"Order Refunded"', { timeoutMs: 0 })
    await expect(unmet).rejects.toThrow(ExpectationError)
    await expect(unmet).rejects.toThrow(/! event +"Order Refunded" +"Order Completed"/)
  })

  test('says if the receiver was closed before the expected webhook arrived', async () => {
    const receiver = await startReceiver()
    const interrupted = receiver.expect('type:track')
    await Promise.all([
      expect(interrupted).rejects.toThrow(
        /^type:track: .*, got 0 before the receiver was closed\n/,
      ),
      receiver.close(),
    ])
    await expect(receiver.expect('type:track')).rejects.toThrow('before the receiver was closed')
    await receiver.expect('type:track never')
  })

  test('accepts the options of a receiver, and a new plan while the receiver runs', async () => {
    await using receiver = await startReceiver({ secret: 'k', respond: '503,200' })
    expect(receiver.secret).toBe('k')
    expect(await send(receiver.url, 'k')).toBe(503)
    receiver.respond(429)
    expect(await send(receiver.url, 'k')).toBe(429)
  })

  test('shows the caller of a wrong plan', async () => {
    await using receiver = await startReceiver()
    const caller = expect.stringContaining('receiver.test.ts') as unknown
    const respond = (): void => receiver.respond('50x')
    expect(respond).toThrow(expect.objectContaining({ stack: caller }))
  })

  test('releases the port when the receiver closes', async () => {
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    await receiver.close()
    await expect(send(receiver.url, receiver.secret)).rejects.toThrow('fetch failed')
  })

  test('refuses unknown options, and suggests the one that was meant', async () => {
    await expect(startReceiver({ secrte: 'k' } as object)).rejects.toMatchObject({
      code: 'invalid_setting',
      setting: 'secrte',
      hint: 'Did you mean secret?',
    })
    await using receiver = await startReceiver()
    const mistyped = receiver.expect('type:track', { timeout: 0 } as object)
    await expect(mistyped).rejects.toMatchObject({ hint: 'Did you mean timeoutMs?' })
  })

  test('shows the source of a predicate that returned false', async () => {
    await using receiver = await startReceiver()
    await send(receiver.url, receiver.secret)
    const properties = { total: (total: number) => total > 100 }
    const unmet = receiver.expect({ type: 'track', properties }, { timeoutMs: 0 })
    await expect(unmet).rejects.toThrow('properties.total:(total) => total > 100')
  })

  test('puts the hint into the message, because test runners print nothing else', async () => {
    await using receiver = await startReceiver()
    const { message, stack } = await receiver.expect('typ:track').then(
      () => new Error('resolved'),
      (error: unknown) => error as Error,
    )
    expect(message).toMatch(
      /^Cannot read the match expression at character 1: there is no field "typ"\. Did you mean type\?.*\n {2}typ:track\n {2}\^{3}$/s,
    )
    expect(stack).toContain('Did you mean type?')
  })

  test('gives errors the stack of the caller', async () => {
    await using receiver = await startReceiver()
    const { expect: destructured } = receiver
    function expectOrder(): Promise<unknown> {
      return destructured('type:track', { timeoutMs: 0 })
    }
    const error: unknown = await expectOrder().catch((thrown: unknown) => thrown)
    const [first = '', ...frames] = (error as Error).stack?.split(/\n {4}at /) ?? []
    expect(first).toMatch(/^ExpectationError: type:track: /)
    expect(frames[0]).toMatch(/^expectOrder .*receiver\.test\.ts:\d+:\d+/)
  })
})
