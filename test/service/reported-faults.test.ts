import { expect, test } from 'vitest'
import { hiddenEndpoint } from '../../src/model/index.ts'
import { makeCertificate } from '../support/certificates.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { documentFor, manualClock, startService, writeKey } from './running-service.ts'

test('deliveries that fail on a certificate are reported in the log, a metric and GET /v1/destinations', async () => {
  const endpoint = await TestEndpoint.start(200, await makeCertificate())
  const service = await startService(documentFor(endpoint))
  const { track, settled, admin, ready, warnings } = service
  for (let index = 0; index < 12; index++) await track(`m_${index}`)
  await expect.poll(() => settled).toHaveLength(12)
  const reason = 'DEPTH_ZERO_SELF_SIGNED_CERT'
  expect(warnings).toMatchObject([
    { destinationId: 'crm', url: hiddenEndpoint(endpoint.url), reason },
  ])
  expect((await admin('/metrics')).body).toContain(
    `evroute_webhook_failures_total{destination="crm",reason="${reason}"} 12\n`,
  )
  expect((await admin('/v1/destinations')).body).toMatchObject({
    destinations: [{ endpoints: [{ breaker: 'closed', faults: [{ reason, failures: 12 }] }] }],
  })
  expect(await ready()).toMatchObject({ status: 200 })
  await service.service.close()
  expect(service.infos).toMatchObject([{ url: hiddenEndpoint(endpoint.url), reason, failures: 12 }])
})

test('an endpoint that is gone after a deployment is reported once, and again when it recovers', async () => {
  let status = 404
  const endpoint = await TestEndpoint.start(() => status)
  const clock = manualClock()
  const { track, settled, warnings, infos } = await startService(documentFor(endpoint), clock)
  for (let index = 0; index < 5; index++) await track(`m_${index}`)
  await expect.poll(() => settled).toHaveLength(5)
  expect(warnings).toMatchObject([{ reason: 'status_404', messageId: 'm_0' }])
  status = 200
  await track('m_5')
  await expect.poll(() => settled).toHaveLength(6)
  await clock.advance(90_000)
  expect(infos).toMatchObject([
    { url: hiddenEndpoint(endpoint.url), reason: 'status_404', failures: 5 },
  ])
  expect(warnings).toHaveLength(1)
})

test('an endpoint that fails too rarely to open its breaker is reported once, and again when it recovers', async () => {
  let status = 503
  const endpoint = await TestEndpoint.start(() => status)
  const clock = manualClock()
  const { track, settled, warnings, infos } = await startService(documentFor(endpoint), clock)
  for (const messageId of ['m_0', 'm_1']) await track(messageId)
  await expect.poll(() => warnings).toHaveLength(1)
  await endpoint.received(2)
  status = 200
  await expect
    .poll(async () => {
      await clock.advance(15_000)
      return settled
    })
    .toHaveLength(2)
  const fields = { destinationId: 'crm', url: hiddenEndpoint(endpoint.url) }
  expect(warnings).toEqual([
    { message: 'an endpoint is failing; its webhooks are retried', ...fields, error: 'status_503' },
  ])
  expect(infos).toEqual([{ message: 'an endpoint has recovered', ...fields }])
})

test('unreadable timestamps are logged once per source and minute', async () => {
  const endpoint = await TestEndpoint.start()
  const clock = manualClock()
  const sources = [
    { id: 'website', writeKeys: [writeKey] },
    { id: 'shop', writeKeys: ['wk_shop'] },
  ]
  const { service, track, warnings } = await startService(documentFor(endpoint, { sources }), clock)
  for (let index = 0; index < 20; index++) {
    await track(`m_${index}`, undefined, { timestamp: 'yesterday' })
    await track(`m_${index}`, 'wk_shop', { timestamp: 'yesterday' })
  }
  const first = [
    { sourceId: 'website', messageId: 'm_0' },
    { sourceId: 'shop', messageId: 'm_0' },
  ]
  expect(warnings).toMatchObject(first)
  await service.close()
  expect(warnings).toMatchObject([
    ...first,
    { sourceId: 'website', messageId: 'm_19', repeated: 19 },
    { sourceId: 'shop', messageId: 'm_19', repeated: 19 },
  ])
})
