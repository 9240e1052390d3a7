import { describe, expect, test } from 'vitest'
import { Analytics } from '@segment/analytics-node'
import { Client } from '../../src/index.ts'
import { createRuntime, ManualClock } from '../../src/runtime/index.ts'
import { freePort } from '../support/free-port.ts'
import { startService, type TestService } from '../../src/testing/index.ts'
import { importedBy, roomsOf } from '../support/imports.ts'

/** Sends a purchase with evroute's own client. Resolves once the service has accepted it. */
async function purchase({ endpoint, writeKey }: TestService): Promise<void> {
  const client = new Client(writeKey, { endpoint: `${endpoint}/v1/batch` })
  client.track({ userId: 'u_1', event: 'Order Completed' })
  expect(await client.close()).toMatchObject({ delivered: 1 })
}

describe('startService', () => {
  test('turns calls of the client into signed webhooks', async () => {
    await using service = await startService()
    await purchase(service)
    const [event] = await service.receiver.expect('type:track event:"Order Completed" sig:valid')
    expect(event).toMatchObject({ userId: 'u_1' })
  })

  test("turns calls of Segment's library into webhooks if only its write key and host are set", async () => {
    await using service = await startService({ writeKey: 'wk_shop' })
    const analytics = new Analytics({ writeKey: 'wk_shop', host: service.endpoint })
    analytics.identify({ userId: 'u_1', traits: { plan: 'pro' } })
    await analytics.closeAndFlush()
    await service.receiver.expect({ type: 'identify', traits: { plan: 'pro' } })
  })

  test('uses secrets and write keys as they are, even if they look like references', async () => {
    await using service = await startService({
      writeKey: '@shop-key',
      receiver: { secret: '@shop-secret' },
    })
    await purchase(service)
    await service.receiver.expect('type:track sig:valid')
  })

  test('retries by the given clock', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 2))
    await using service = await startService({
      runtime: createRuntime({ clock }),
      receiver: { respond: '503x2,200' },
    })
    await purchase(service)
    await service.receiver.expect('type:track status:503')
    await clock.advance(15_000)
    await service.receiver.expect('type:track status:503 x2..')
    await clock.advance(45_000)
    await service.receiver.expect('type:track status:200')
    expect(service.receiver.events.map(({ status }) => status)).toEqual([503, 503, 200])
  })

  test('releases the ports when the service closes', async () => {
    const service = await startService()
    await service.close()
    await expect(fetch(service.endpoint)).rejects.toThrow('fetch failed')
    await expect(fetch(service.receiver.url)).rejects.toThrow('fetch failed')
  })

  test('releases the ports even if the service fails to start', async () => {
    const port = await freePort()
    const unusable = startService({ writeKey: 'with spaces', receiver: { port } })
    await expect(unusable).rejects.toMatchObject({ setting: 'writeKey' })
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow('fetch failed')
  })

  test.each(['', 'with:colon', 5 as unknown as string])(
    'refuses the write key "%s"',
    async (writeKey) => {
      await expect(startService({ writeKey })).rejects.toThrow(
        'Cannot use this write key: it must be 1 to 200 printable characters without spaces or colons',
      )
    },
  )

  test('refuses unknown options', async () => {
    await expect(startService({ writeKeys: 'wk' } as object)).rejects.toMatchObject({
      setting: 'writeKeys',
      hint: 'Did you mean writeKey?',
    })
  })
})

test('a test that only starts a receiver does not load the service', async () => {
  expect(roomsOf(await importedBy('testing/index.ts'))).not.toContain('service')
})
