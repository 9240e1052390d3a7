import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDeliveryLog } from '../../src/store/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { gate } from '../support/gate.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { sendRequest, documentFor, manualClock, startService } from './running-service.ts'

async function startStoring(endpoint: TestEndpoint) {
  const store = `sqlite:${join(await temporaryFolder(), 'store.db')}`
  const running = await startService(documentFor(endpoint, { store }))
  const lookAfterwards = async () => {
    const log = await openDeliveryLog(store, { write: false })
    onTestFinished(() => log.close())
    return log.list({ filter: {}, limit: 10 })
  }
  return { store, lookAfterwards, ...running }
}

describe('a service that is closing', () => {
  test('lets requests in flight finish within the grace period', async () => {
    const { opened, open } = gate()
    const endpoint = await TestEndpoint.start({ status: 200, after: opened })
    const { service, track, lookAfterwards } = await startStoring(endpoint)
    await track('m_1')
    await endpoint.received(1)
    const closed = service.close(60_000)
    const { url } = service.address
    await expect.poll(() => sendRequest(url).catch(() => 'refused')).toBe('refused')
    open()
    await closed
    expect(await lookAfterwards()).toMatchObject([{ messageId: 'm_1', state: 'delivered' }])
  })

  test('returns unfinished deliveries, which another service sends at once', async () => {
    const endpoint = await TestEndpoint.start(['hang', 200])
    const { service, store, track, lookAfterwards } = await startStoring(endpoint)
    await track('m_1')
    await endpoint.received(1)
    await service.close(10)
    expect(await lookAfterwards()).toMatchObject([{ state: 'pending', attempts: 0 }])
    const next = await startService(documentFor(endpoint, { store }), manualClock())
    await expect.poll(() => next.settled).toMatchObject([{ state: 'delivered' }])
  })

  test('accepts no more calls, and can be closed several times and from several places', async () => {
    const endpoint = await TestEndpoint.start()
    const { service, store, track } = await startStoring(endpoint)
    const { url, admin } = service.address
    await track('m_1')
    const closed = service.close(1_000)
    expect(service.close()).toBe(closed)
    await Promise.all([closed, service[Symbol.asyncDispose]()])
    await expect(sendRequest(`${url}/healthz`)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await expect(sendRequest(`${admin ?? ''}/healthz`)).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    })
    // The store can be opened again.
    const next = await startService(documentFor(endpoint, { store }))
    await next.service.close()
  })

  test('does not wait for a replay that is waiting for room', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const directory = join(await temporaryFolder(), 'archive')
    const clock = manualClock()
    const { service, track, admin } = await startService(
      documentFor(endpoint, { source: { archive: { directory } }, limits: { backlogMax: 2 } }),
      clock,
    )
    await track('m_1')
    const replay = admin('/v1/replay', { all: true }).then(
      ({ status }) => status,
      () => 'cut off',
    )
    // By then the replay has read the archive.
    for (let count = 0; count < 5; count++) await admin('/v1/ledger')
    await service.close(100)
    expect(clock.nextDueMs()).toBeUndefined()
    expect([500, 503, 'cut off']).toContain(await replay)
  })
})
