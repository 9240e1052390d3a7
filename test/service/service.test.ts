import { createHmac } from 'node:crypto'
import { hiddenEndpoint } from '../../src/model/index.ts'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/http/index.ts'
import { Service } from '../../src/service/index.ts'
import { dropTable } from '../support/drop-table.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import {
  sendRequest,
  configurationOf,
  documentFor,
  manualClock,
  secret,
  startService,
  token,
} from './running-service.ts'

const taken = { status: 200, body: { success: true } }
const refusedAs = (status: number, code: string) => ({ status, body: { success: false, code } })

describe('a service', () => {
  test('delivers posted calls, signed', async () => {
    const endpoint = await TestEndpoint.start()
    const { track, admin } = await startService(documentFor(endpoint))
    expect(await track('m_1')).toMatchObject(taken)
    await endpoint.received(1)
    const [received] = endpoint.requests
    expect(endpoint.bodies).toMatchObject([{ type: 'track', userId: 'u_1', messageId: 'm_1' }])
    const signature = createHmac('sha1', secret).update(received!.body).digest('hex')
    expect(received!.headers['x-signature']).toBe(signature)
    await expect
      .poll(() => admin('/v1/ledger'))
      .toMatchObject({ status: 200, body: { accepted: 1, routed: 1, delivered: 1, pending: 0 } })
  })

  test('signs Standard Webhooks with each secret as well, and measures the requests', async () => {
    const endpoint = await TestEndpoint.start()
    const secrets = ['not-a-real-secret-2', 'not-a-real-secret-1']
    const clock = manualClock()
    const { track, admin, settled } = await startService(
      documentFor(endpoint, { destination: { standardWebhooks: { secrets } } }),
      clock,
    )
    for (const [index, id] of ['m_1', 'm_2'].entries()) {
      await track(id)
      await expect.poll(() => settled).toHaveLength(index + 1)
    }
    const [received] = endpoint.requests
    const timestamp = Math.floor(clock.nowMs() / 1_000)
    const content = `m_1.${timestamp}.${received!.body.toString('utf8')}`
    expect(received!.headers).toMatchObject({
      'webhook-id': 'm_1',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': secrets
        .map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`)
        .join(' '),
    })
    const metrics = String((await admin('/metrics')).body).split('\n')
    expect(metrics).toContain('evroute_webhook_connections_opened_total{destination="crm"} 1')
    expect(metrics).toContain('evroute_webhook_connections_reused_total{destination="crm"} 1')
    expect(metrics).toContain('evroute_delivery_latency_seconds_count{destination="crm"} 2')
    expect(metrics).toContain('evroute_events_accepted_total{source="website",outcome="routed"} 2')
  })

  test('acknowledges nothing that the store refuses, and reports that it is not ready', async () => {
    const endpoint = await TestEndpoint.start()
    const file = join(await temporaryFolder(), 'store.db')
    const clock = manualClock()
    const { track, ready, admin } = await startService(
      documentFor(endpoint, { store: `sqlite:${file}` }),
      clock,
    )
    expect(await ready()).toMatchObject({ status: 200 })
    await dropTable(file, 'seen')
    expect(await track('m_1')).toMatchObject(refusedAs(503, 'store_unavailable'))
    expect(await ready()).toEqual({
      status: 503,
      body: { status: 'not_ready', reasons: ['The store or an archive does not accept events'] },
    })
    expect(await admin('/v1/ledger')).toMatchObject({ body: { accepted: 0, deliveries: 0 } })
    expect(endpoint.requests).toEqual([])
    // A client that sends events only while the service is ready tries again later.
    await clock.advance(5_000)
    expect(await ready()).toMatchObject({ status: 200 })
  })

  test('is not ready after the store has failed, and reports that', async () => {
    const endpoint = await TestEndpoint.start(404)
    const file = join(await temporaryFolder(), 'store.db')
    const running = await startService(documentFor(endpoint, { store: `sqlite:${file}` }))
    await dropTable(file, 'requests')
    expect(await running.track('m_1')).toMatchObject(taken)
    await expect.poll(() => running.failures).toMatchObject([{ code: 'store_unusable' }])
    expect(await running.ready()).toEqual({
      status: 503,
      body: {
        status: 'not_ready',
        reasons: ['This process has stopped sending webhooks: restart it'],
      },
    })
    expect(await running.track('m_2')).toMatchObject(refusedAs(503, 'store_unavailable'))
  })

  test('fails deliveries to an address that is no longer allowed, and names the rule', async () => {
    const endpoint = await TestEndpoint.start()
    const document = documentFor(endpoint)
    const { service, folder, track, settled, warnings } = await startService(document)
    // Built without the configuration reader, which would refuse the address.
    const configuration = await configurationOf(document, folder)
    service.reconfigure({ ...configuration, network: { ...configuration.network, allow: [] } })
    expect(await track('m_1')).toMatchObject(taken)
    await expect
      .poll(() => settled)
      .toMatchObject([{ messageId: 'm_1', state: 'failed', reason: 'loopback_address' }])
    expect(endpoint.connections).toBe(0)
    expect(warnings).toMatchObject([
      { url: hiddenEndpoint(endpoint.url), reason: 'loopback_address' },
    ])
  })

  test('shows the state of its destinations, including an open breaker', async () => {
    const endpoint = await TestEndpoint.start(503)
    const clock = manualClock()
    const { track, admin, endpoints, reconfigure, warnings, infos } = await startService(
      documentFor(endpoint),
      clock,
    )
    const closed = {
      url: hiddenEndpoint(endpoint.url),
      breaker: 'closed',
      probeAt: null,
      faults: [],
    }
    const state = (await admin('/v1/destinations')).body
    expect(state).toMatchObject({ destinations: [{ id: 'crm', endpoints: [closed] }] })
    for (let index = 0; index < 10; index++) await track(`m_${index}`)
    await expect.poll(() => endpoints).toMatchObject([{ state: 'open' }])
    const endpointFields = { destinationId: 'crm', url: hiddenEndpoint(endpoint.url) }
    const failed = { ...endpointFields, error: 'status_503' }
    expect(warnings).toEqual([
      { message: 'an endpoint is failing; its webhooks are retried', ...failed },
      { message: 'an endpoint is down', ...failed },
    ])
    expect((await admin('/v1/destinations')).body).toMatchObject({
      destinations: [
        {
          id: 'crm',
          enabled: true,
          sources: ['website'],
          endpoints: [{ breaker: 'open', probeAt: '2026-01-02T03:04:35.678Z' }],
          pending: 10,
        },
      ],
    })
    const metrics = await admin('/metrics')
    expect(metrics.body).toMatch(/^evroute_endpoint_breaker_state\{.*state="open"\} 1$/m)
    // A change of the rate keeps the breaker; other changes of the endpoint reset it.
    await reconfigure(documentFor(endpoint, { destination: { concurrency: 5 } }))
    expect((await admin('/v1/destinations')).body).toMatchObject({
      destinations: [{ endpoints: [{ breaker: 'open' }] }],
    })
    const others = [{ url: endpoint.url, headers: { 'X-Team': 'growth' } }]
    await reconfigure(documentFor(endpoint, { destination: { endpoints: others } }))
    expect((await admin('/v1/destinations')).body).toMatchObject({
      destinations: [{ endpoints: [closed] }],
    })
    expect(infos).toContainEqual({ message: 'an endpoint has recovered', ...endpointFields })
    const after = await admin('/metrics')
    expect(after.body).toMatch(/^evroute_endpoint_breaker_state\{.*state="open"\} 0$/m)
  })

  test('fails new deliveries of a destination with a full backlog, while others continue', async () => {
    const dead = await TestEndpoint.start('hang')
    const well = await TestEndpoint.start()
    const document = documentFor(dead, { destination: { backlogMax: 2 } })
    const { destinations } = document as { readonly destinations: readonly [object] }
    const [crm] = destinations
    const other = { ...crm, id: 'other', backlogMax: null, endpoints: [{ url: well.url }] }
    const both = { ...document, destinations: [crm, other] }
    const clock = manualClock()
    const { track, admin, warnings, infos } = await startService(both, clock)
    for (let count = 1; count <= 6; count++) expect(await track(`m_${count}`)).toMatchObject(taken)
    await well.received(6)
    const failed = { destination: 'crm', state: 'failed', reason: 'backlog_full' }
    expect((await admin('/v1/deliveries?state=failed')).body).toMatchObject({
      deliveries: [failed, failed, failed, failed],
    })
    const backlogWarnings = warnings.filter(({ message }) =>
      message.includes('backlog of a destination is full'),
    )
    expect(backlogWarnings).toMatchObject([{ destinationId: 'crm' }])
    const { body: metrics } = await admin('/metrics')
    const line = 'evroute_deliveries_given_up_total{destination="crm",reason="backlog_full"} 4'
    expect(metrics).toContain(line)
    await clock.advance(120_000)
    const over = 'a destination has room for new deliveries again'
    const fields = { message: over, destinationId: 'crm', failed: 4 }
    expect(infos.filter(({ message }) => message === over)).toEqual([fields])
  })

  test('sends manually retried deliveries at once', async () => {
    const endpoint = await TestEndpoint.start([404, 200])
    const { track, admin, settled } = await startService(documentFor(endpoint), manualClock())
    await track('m_1')
    await expect.poll(() => settled).toMatchObject([{ state: 'failed' }])
    await admin('/v1/deliveries/retry', { all: true })
    await expect.poll(() => settled).toMatchObject([{}, { state: 'delivered' }])
  })

  test('can hold more in memory than an in-memory store by default', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const { service, admin } = await startService(documentFor(endpoint))
    const { url } = service.address
    for (let batch = 0; batch < 5; batch++) {
      const calls = Array.from({ length: 2_500 }, (_, index) => ({
        type: 'track',
        userId: 'u_1',
        event: 'E',
        messageId: `m_${batch}_${index}`,
      }))
      const headers = { 'x-write-key': 'wk_example' }
      const answer = await sendRequest(`${url}/v1/batch`, { headers, body: { batch: calls } })
      expect(answer).toMatchObject(taken)
    }
    expect(await admin('/v1/ledger')).toMatchObject({ body: { pending: 12_500 } })
  })

  test('names the setting when a port is in use, and releases the store', async () => {
    const endpoint = await TestEndpoint.start()
    const folder = await temporaryFolder()
    const other = await listen(() => undefined, { host: '127.0.0.1', port: 0 })
    onTestFinished(() => other.close())
    const store = `sqlite:${join(folder, 'store.db')}`
    const start = async (given: object) =>
      Service.start({
        configuration: await configurationOf(documentFor(endpoint, { store, ...given }), folder),
      })
    const { port } = other
    await expect(start({ listen: { port } })).rejects.toMatchObject({
      code: 'port_in_use',
      hint: 'Set listen.port to a different port, or to 0 for a free one.',
    })
    await expect(start({ admin: { port, token } })).rejects.toMatchObject({
      code: 'port_in_use',
      hint: 'Set admin.port to a different port, or to 0 for a free one.',
    })
    const service = await start({})
    await expect(start({})).rejects.toMatchObject({ code: 'store_in_use' })
    await service.close()
  })
})
