import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { signBody } from '../../src/webhook/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { gate } from '../support/gate.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import {
  configurationOf,
  documentFor,
  manualClock,
  secret,
  startService,
  token,
} from './running-service.ts'

const taken = { status: 200 }
const hourMs = 60 * 60 * 1_000

describe('a reloaded configuration', () => {
  test('refuses a disabled source, and accepts a changed write key', async () => {
    const endpoint = await TestEndpoint.start()
    const { track, reconfigure } = await startService(documentFor(endpoint))
    const rotated = { writeKeys: ['wk_example_next'] }
    expect(await reconfigure(documentFor(endpoint, { source: rotated }))).toEqual([
      { setting: 'sources.website.writeKeys', kind: 'changed', effect: 'at_once' },
    ])
    expect(await track('m_1')).toMatchObject({ status: 401, body: { code: 'unknown_write_key' } })
    expect(await track('m_1', 'wk_example_next')).toMatchObject(taken)
    await reconfigure(documentFor(endpoint, { source: { ...rotated, enabled: false } }))
    expect(await track('m_2', 'wk_example_next')).toMatchObject({
      status: 403,
      body: { code: 'source_disabled' },
    })
  })

  test('signs with the new secret, including retries of earlier deliveries', async () => {
    const clock = manualClock()
    const endpoint = await TestEndpoint.start(() => (endpoint.requests.length === 1 ? 503 : 200))
    const { track, reconfigure, settled } = await startService(documentFor(endpoint), clock)
    await track('m_1')
    await endpoint.received(1)
    await reconfigure(documentFor(endpoint, { destination: { sharedSecret: 'the next secret' } }))
    while (settled.length === 0) await clock.advance(20_000)
    const signedWith = endpoint.requests.map(({ body, headers }) =>
      [secret, 'the next secret'].find((key) => signBody(body, key) === headers['x-signature']),
    )
    expect(signedWith).toEqual([secret, 'the next secret'])
  })

  test('loses no delivery in progress, whatever happens to its destination', async () => {
    const { opened, open } = gate()
    const endpoint = await TestEndpoint.start({ status: 200, after: opened })
    const next = await TestEndpoint.start()
    const { track, reconfigure, settled, admin } = await startService(documentFor(endpoint))
    await track('m_1')
    await endpoint.received(1)
    const endpoints = [{ url: next.url }]
    await reconfigure(documentFor(endpoint, { destination: { endpoints } }))
    await track('m_2')
    await next.received(1)
    expect(next.bodies).toMatchObject([{ messageId: 'm_2' }])
    open()
    await expect.poll(() => settled).toHaveLength(2)
    expect(endpoint.bodies).toMatchObject([{ messageId: 'm_1' }])
    expect(await admin('/v1/audit')).toMatchObject({ body: { balanced: true } })
  })

  test('sends to an added destination, and keeps the deliveries of a removed one', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const next = await TestEndpoint.start()
    const { track, reconfigure, admin } = await startService(documentFor(endpoint))
    await track('m_1')
    const added = { id: 'mail', endpoints: [{ url: next.url }] }
    const changes = await reconfigure(documentFor(endpoint, { destination: added }))
    expect(changes.map(({ setting, kind }) => `${setting} ${kind}`)).toEqual([
      'destinations.crm removed',
      'destinations.mail added',
    ])
    await track('m_2')
    await next.received(1)
    expect((await admin('/v1/destinations')).body).toMatchObject({ destinations: [{ id: 'mail' }] })
    expect((await admin('/v1/deliveries')).body).toMatchObject({
      deliveries: [{ destination: 'mail' }, { destination: 'crm', state: 'pending' }],
    })
  })

  test('says how many deliveries wait for a removed destination, also at the next start', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const store = `sqlite:${join(await temporaryFolder(), 'store.db')}`
    const crm = documentFor(endpoint, { store })
    const mail = documentFor(endpoint, { store, destination: { id: 'mail' } })
    const first = await startService(crm)
    await first.track('m_1')
    await first.track('m_2')
    await first.reconfigure(mail)
    const waiting = {
      message:
        'deliveries wait for a destination that is not configured: add the destination again, or discard its deliveries',
      destination: 'crm',
      deliveries: 2,
    }
    await expect.poll(() => first.warnings).toContainEqual(waiting)
    expect((await first.admin('/v1/overview')).body).toMatchObject({
      problems: [
        {
          text: 'The destination is not configured, and 2 deliveries wait.',
          advice: 'Add the destination to the configuration again, or discard its deliveries.',
          destination: 'crm',
        },
      ],
    })
    await first.service.close()
    const next = await startService(mail)
    await expect.poll(() => next.warnings).toContainEqual(waiting)
    await next.reconfigure(crm)
    expect((await next.admin('/v1/overview')).body).toMatchObject({ problems: [] })
  })

  test('keeps the circuit breakers if no destination changes', async () => {
    const endpoint = await TestEndpoint.start(503)
    const { track, reconfigure, admin, endpoints } = await startService(
      documentFor(endpoint),
      manualClock(),
    )
    for (let index = 0; index < 10; index++) await track(`m_${index}`)
    await expect.poll(() => endpoints).toMatchObject([{ state: 'open' }])
    await reconfigure(documentFor(endpoint, { source: { eventsPerSecond: 100 } }))
    expect((await admin('/v1/destinations')).body).toMatchObject({
      destinations: [{ endpoints: [{ breaker: 'open' }] }],
    })
    await track('m_10')
    expect(endpoint.requests).toHaveLength(10)
  })

  test("keeps an endpoint's pause when a different destination changes", async () => {
    const ill = await TestEndpoint.start(503)
    const well = await TestEndpoint.start()
    const mailed = (concurrency: number): object => ({
      id: 'mail',
      type: 'Webhooks',
      sources: ['website'],
      endpoints: [{ url: well.url }],
      concurrency,
    })
    const started = await startService(documentFor(ill, { others: [mailed(10)] }), manualClock())
    const { track, reconfigure, admin, endpoints } = started
    for (let index = 0; index < 10; index++) await track(`m_${index}`)
    await expect.poll(() => endpoints).toMatchObject([{ destinationId: 'crm', state: 'open' }])
    await reconfigure(documentFor(ill, { others: [mailed(5)] }))
    await track('m_10')
    await well.received(11)
    expect(ill.requests).toHaveLength(10)
    expect((await admin('/v1/destinations')).body).toMatchObject({
      destinations: [{ endpoints: [{ breaker: 'open' }] }, { endpoints: [{ breaker: 'closed' }] }],
    })
    expect((await admin('/metrics')).body).toMatch(/breaker.*crm.*state="open"} 1/)
    await reconfigure(documentFor(ill, { destination: { concurrency: 5 } }))
    expect((await admin('/v1/destinations')).body).toMatchObject({
      destinations: [{ endpoints: [{ breaker: 'open' }] }],
    })
    const changed = [{ url: ill.url, headers: { 'X-Team': 'growth' } }]
    await reconfigure(documentFor(ill, { destination: { endpoints: changed } }))
    await expect.poll(() => endpoints).toHaveLength(2)
    expect((await admin('/v1/destinations')).body).toMatchObject({
      destinations: [{ endpoints: [{ breaker: 'closed' }] }],
    })
    expect((await admin('/metrics')).body).toMatch(/breaker.*crm.*state="closed"} 1/)
  })

  test('keeps the connections to unchanged endpoints', async () => {
    const endpoint = await TestEndpoint.start()
    const other = {
      id: 'mail',
      type: 'Webhooks',
      sources: ['website'],
      endpoints: [{ url: endpoint.url }],
    }
    const { track, reconfigure, admin, settled } = await startService(documentFor(endpoint))
    await track('m_1')
    await expect.poll(() => settled).toHaveLength(1)
    await reconfigure(documentFor(endpoint, { others: [{ ...other, enabled: false }] }))
    await track('m_2')
    await expect.poll(() => settled).toHaveLength(2)
    expect((await admin('/metrics')).body).toMatch(
      /connections_opened_total\{destination="crm"} 1\n/,
    )
  })

  test('changes the rate of an endpoint over the same connections', async () => {
    const endpoint = await TestEndpoint.start()
    const clock = manualClock()
    const rated = (rate?: string): object =>
      documentFor(endpoint, { destination: { endpoints: [{ url: endpoint.url, rate }] } })
    const { track, reconfigure, admin, settled } = await startService(rated('10/m'), clock)
    await track('m_1')
    await track('m_2')
    await expect.poll(() => settled).toHaveLength(1)
    await clock.advance(5_900)
    expect(endpoint.requests).toHaveLength(1)
    await clock.advance(200)
    await expect.poll(() => settled).toHaveLength(2)
    expect((await admin('/v1/destinations')).body).toMatchObject({
      destinations: [{ endpoints: [{ rate: '10/m' }] }],
    })
    await track('m_3')
    await reconfigure(rated('1/s'))
    await clock.advance(1_000)
    await expect.poll(() => settled).toHaveLength(3)
    await track('m_4')
    await reconfigure(rated())
    await expect.poll(() => settled).toHaveLength(4)
    const { destinations } = (await admin('/v1/destinations')).body as {
      destinations: { endpoints: object[] }[]
    }
    expect(destinations[0]!.endpoints[0]).not.toHaveProperty('rate')
    expect((await admin('/metrics')).body).toMatch(
      /connections_opened_total\{destination="crm"} 1\n/,
    )
  })

  test('reports nothing about breakers that are retired', async () => {
    const { opened, open } = gate()
    const endpoint = await TestEndpoint.start({ status: 503, after: opened })
    const { track, reconfigure, endpoints, requests } = await startService(
      documentFor(endpoint),
      manualClock(),
    )
    for (let index = 0; index < 10; index++) await track(`m_${index}`)
    await endpoint.received(10)
    const changed = [{ url: endpoint.url, headers: { 'X-Team': 'growth' } }]
    await reconfigure(documentFor(endpoint, { destination: { endpoints: changed } }))
    open()
    await expect.poll(() => requests).toHaveLength(10)
    expect(endpoints).toEqual([])
  })

  test('warns which archives deletions can no longer find', async () => {
    const endpoint = await TestEndpoint.start()
    const at = (...directories: readonly string[]) =>
      documentFor(endpoint, {
        sources: ['website', 'app', 'shop'].flatMap((id, index) => {
          const directory = directories[index]
          const archive = directory === '' ? {} : { archive: { directory } }
          return directory === undefined ? [] : [{ id, writeKeys: [`wk_${id}`], ...archive }]
        }),
      })
    const { reconfigure, warnings, folder } = await startService(at('./a', './b', './c'))
    await reconfigure(at('./a', './b', './c'))
    expect(warnings).toEqual([])
    await reconfigure(at('./a2', ''))
    const stoppedMessage = (name: string) =>
      `the archive in ${folder}/${name} is no longer configured: deletions of users no longer reach it`
    expect(warnings).toEqual([
      { message: stoppedMessage('a'), source: 'website' },
      { message: stoppedMessage('b'), source: 'app' },
      { message: stoppedMessage('c'), source: 'shop' },
    ])
  })

  test('answers 503 while a different service uses the archive of a source', async () => {
    const endpoint = await TestEndpoint.start()
    const directory = join(await temporaryFolder(), 'archive')
    const archived = documentFor(endpoint, { source: { archive: { directory } } })
    const other = await startService(archived)
    const { track, reconfigure, warnings } = await startService(documentFor(endpoint))
    await reconfigure(archived)
    expect(await track('m_1')).toMatchObject({ status: 503 })
    const error = `Cannot write the archive ${directory}: another process is using it`
    expect(warnings).toMatchObject([{ error, sourceId: 'website' }])
    await other.service.close()
    expect(await track('m_1')).toMatchObject(taken)
    await reconfigure(documentFor(endpoint))
    await reconfigure(archived)
    expect(await track('m_2')).toMatchObject(taken)
  })

  test('changes the rate of a source', async () => {
    const endpoint = await TestEndpoint.start()
    const slow = documentFor(endpoint, { source: { eventsPerSecond: 1 } })
    const { track, reconfigure } = await startService(slow, manualClock())
    expect(await track('m_1')).toMatchObject(taken)
    expect(await track('m_2')).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    await reconfigure(documentFor(endpoint))
    expect(await track('m_2')).toMatchObject(taken)
  })

  test('changes the retention of deliveries and messageIds', async () => {
    const endpoint = await TestEndpoint.start()
    const clock = manualClock()
    const { track, reconfigure, admin, settled } = await startService(documentFor(endpoint), clock)
    await track('m_1')
    await expect.poll(() => settled).toHaveLength(1)
    clock.jump(2 * hourMs)
    await clock.advance(60_000)
    expect((await admin('/v1/deliveries')).body).toMatchObject({ deliveries: [{}] })
    const retention = { delivered: '1h', messageIds: '1h' }
    const changes = await reconfigure(documentFor(endpoint, { retention }))
    expect(changes).toMatchObject([
      { setting: 'retention.delivered', effect: 'at_once' },
      { setting: 'retention.messageIds', effect: 'at_once' },
    ])
    await expect
      .poll(async () => (await admin('/v1/deliveries')).body)
      .toMatchObject({ deliveries: [] })
    await track('m_1')
    await expect.poll(() => settled).toHaveLength(2)
  })

  test('extends how long messageIds are remembered', async () => {
    const endpoint = await TestEndpoint.start()
    const clock = manualClock()
    const { track, reconfigure, admin } = await startService(
      documentFor(endpoint, { retention: { messageIds: '1h' } }),
      clock,
    )
    await track('m_1')
    await reconfigure(documentFor(endpoint, { retention: { messageIds: '24h' } }))
    clock.jump(2 * hourMs)
    await track('m_1')
    expect(await admin('/v1/ledger')).toMatchObject({ body: { routed: 1, duplicate: 1 } })
  })

  test('changes the admin token, but not the ports or the store', async () => {
    const endpoint = await TestEndpoint.start()
    const { service, reconfigure, admin, track } = await startService(documentFor(endpoint))
    const before = service.address
    const restarting = {
      listen: { port: before.port + 1 },
      admin: { port: 1, token: 'another-token-no-secret', metricsToken: 'metrics-token-no-secret' },
      store: 'sqlite:./other.db',
    }
    expect(await reconfigure(documentFor(endpoint, restarting))).toEqual([
      { setting: 'listen.port', kind: 'changed', effect: 'after_restart' },
      { setting: 'admin.port', kind: 'changed', effect: 'after_restart' },
      { setting: 'admin.token', kind: 'changed', effect: 'at_once' },
      { setting: 'admin.metricsToken', kind: 'changed', effect: 'at_once' },
      { setting: 'store', kind: 'changed', effect: 'after_restart' },
    ])
    expect(service.address).toEqual(before)
    expect(await admin('/v1/ledger', undefined, token)).toMatchObject({ status: 401 })
    expect(await admin('/v1/ledger', undefined, 'another-token-no-secret')).toMatchObject({
      status: 200,
    })
    expect(await admin('/metrics', undefined, 'metrics-token-no-secret')).toMatchObject({
      status: 200,
    })
    expect(await track('m_1')).toMatchObject(taken)
    // Settings that need a restart are reported again.
    const again = await reconfigure(documentFor(endpoint, restarting))
    expect(again.map(({ setting }) => setting)).toEqual(['listen.port', 'admin.port', 'store'])
  })

  test('changes nothing if it is invalid', async () => {
    const endpoint = await TestEndpoint.start()
    const { service, track, reconfigure, folder } = await startService(documentFor(endpoint))
    const good = await configurationOf(documentFor(endpoint), folder)
    expect(() =>
      service.reconfigure({
        ...good,
        sources: [],
        network: { ...good.network, allow: ['not an address'] },
      }),
    ).toThrow('Cannot allow "not an address"')
    expect(await track('m_1')).toMatchObject(taken)
    await service.close()
    expect(await reconfigure(documentFor(endpoint, { source: { enabled: false } }))).toEqual([])
  })
})

test('the overview reports a refused configuration, and a destination that was disabled by hand', async () => {
  const endpoint = await TestEndpoint.start()
  const document = documentFor(endpoint)
  const { service, admin, reconfigure } = await startService(document)
  const problems = async () => (await admin('/v1/overview')).body
  service.refuseConfiguration()
  await admin('/v1/destinations/crm/disable', {})
  const byHand = {
    destination: 'crm',
    text: 'The destination was disabled by hand. Later events never reach it.',
    advice: 'Enable the destination on the page or through the admin API.',
  }
  const refused = { text: 'The latest configuration is invalid, so the previous one stays in use.' }
  expect(await problems()).toMatchObject({ problems: [refused, byHand] })
  await reconfigure(document)
  expect(await problems()).toMatchObject({ problems: [byHand] })
  await admin('/v1/destinations/crm/enable', {})
  expect(await problems()).toMatchObject({ problems: [] })
  await admin('/v1/destinations/crm/disable', {})
  await reconfigure(documentFor(endpoint, { destination: { enabled: false } }))
  expect(await problems()).toMatchObject({ problems: [] })
})
