import { describe, expect, test } from 'vitest'
import type { ManualClock } from '../../src/runtime/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { documentFor, manualClock, startService } from './running-service.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** Advances half an hour: most of it at once, and the last minute step by step. */
async function passHalfAnHour(clock: ManualClock): Promise<void> {
  clock.jump(29 * minuteMs)
  await clock.advance(minuteMs)
}

describe('a service with a retry window of days', () => {
  test('tries every hour until the window is over, whatever its retention', async () => {
    const endpoint = await TestEndpoint.start(503)
    const clock = manualClock()
    const retention = { delivered: '1h', failed: '1h', untried: '1h', messageIds: '1h' }
    const { track, admin, settled, requests } = await startService(
      documentFor(endpoint, { destination: { retryFor: '1d' }, retention }),
      clock,
    )
    await track('m_1')
    await endpoint.received(1)
    while (settled.length === 0) await passHalfAnHour(clock)
    expect(settled).toMatchObject([{ messageId: 'm_1', state: 'expired', reason: 'status_503' }])
    const times = requests.map(({ atMs }) => atMs)
    const windowMs = times.at(-1)! - times[0]!
    expect(windowMs).toBeLessThanOrEqual(24 * hourMs)
    expect(windowMs).toBeGreaterThan(22 * hourMs)
    const waits = times.slice(1).map((atMs, index) => atMs - times[index]!)
    expect(Math.max(...waits)).toBeLessThanOrEqual(1.5 * hourMs + minuteMs)
    expect(times.length).toBeGreaterThan(15)
    expect((await admin('/v1/audit')).body).toMatchObject({ balanced: true })
  })

  test('delivers once the endpoint is back, long after four hours', async () => {
    const clock = manualClock()
    const backAtMs = clock.nowMs() + 30 * hourMs
    const endpoint = await TestEndpoint.start(() => (clock.nowMs() < backAtMs ? 503 : 200))
    const { track, settled } = await startService(
      documentFor(endpoint, { destination: { retryFor: '30d' } }),
      clock,
    )
    await track('m_1')
    await endpoint.received(1)
    while (settled.length === 0) await passHalfAnHour(clock)
    expect(settled).toMatchObject([{ messageId: 'm_1', state: 'delivered' }])
  })
})

describe('a service with chosen retry statuses', () => {
  test.each([404, 401])('retries %s, and delivers later', async (status) => {
    const endpoint = await TestEndpoint.start([status, status, 200])
    const clock = manualClock()
    const { track, settled, requests } = await startService(
      documentFor(endpoint, { destination: { retryStatuses: [401, 404] } }),
      clock,
    )
    await track('m_1')
    await endpoint.received(1)
    while (settled.length === 0) await clock.advance(minuteMs)
    expect(settled).toMatchObject([{ state: 'delivered', attempts: 3 }])
    expect(requests.map(({ outcome }) => outcome)).toEqual(['retry', 'retry', 'success'])
  })

  test.each([409, 302])('fails at once for %s, which is not one of them', async (status) => {
    const endpoint = await TestEndpoint.start(status)
    const { track, settled } = await startService(
      documentFor(endpoint, { destination: { retryStatuses: [404] } }),
    )
    await track('m_1')
    await expect.poll(() => settled).toHaveLength(1)
    expect(settled).toMatchObject([{ state: 'failed', reason: `status_${status}` }])
  })

  test('does not count these statuses as an outage of the endpoint', async () => {
    const endpoint = await TestEndpoint.start(404)
    const { track, admin } = await startService(
      documentFor(endpoint, { destination: { retryStatuses: [404] } }),
      manualClock(),
    )
    for (let count = 1; count <= 12; count++) await track(`m_${count}`)
    await endpoint.received(12)
    expect((await admin('/v1/destinations')).body).toMatchObject({
      destinations: [{ pending: 12, endpoints: [{ breaker: 'closed' }] }],
    })
  })
})

test('deliveries that expire after their retries are logged once a minute, and are a problem for an hour', async () => {
  const endpoint = await TestEndpoint.start(500)
  const clock = manualClock()
  const document = documentFor(endpoint, { destination: { retryFor: '20s' } })
  const { track, admin, settled, warnings } = await startService(document, clock)
  const problems = async () => (await admin('/v1/overview')).body
  for (let index = 0; index < 3; index++) await track(`m_${index}`)
  await endpoint.received(3)
  expect(await problems()).toMatchObject({ problems: [] })
  await clock.advance(15_000)
  await expect.poll(() => settled).toHaveLength(3)
  const expired = warnings.filter(({ message }) => message.startsWith('a delivery expired'))
  expect(expired).toMatchObject([{ destinationId: 'crm', error: 'status_500' }])
  expect(expired[0]?.message).toContain('its retry window ended without success')
  expect(expired[0]?.message).toContain(
    '`evroute deliveries retry --state expired --destination <id>`',
  )
  const lost = { destination: 'crm', text: '3 deliveries failed or expired: answered 500.' }
  expect(await problems()).toMatchObject({ problems: [lost] })
  await clock.advance(minuteMs)
  const repeated = warnings.filter(({ message }) => message.startsWith('a delivery expired'))
  expect(repeated).toMatchObject([{}, { destinationId: 'crm', repeated: 2 }])
  clock.jump(hourMs)
  expect(await problems()).toMatchObject({ problems: [] })
})

test('a problem of lost deliveries names each cause, and counts those that are still lost', async () => {
  const endpoint = await TestEndpoint.start([404, 410, 404, 200, 200, 404])
  const clock = manualClock()
  const { track, admin, settled } = await startService(documentFor(endpoint), clock)
  for (let index = 1; index <= 3; index++) {
    await track(`m_${index}`)
    await expect.poll(() => settled).toHaveLength(index)
  }
  await clock.advance(6 * minuteMs)
  const problems = async () => (await admin('/v1/overview')).body
  const causes = 'failed or expired: answered 404, answered 410.'
  expect(await problems()).toMatchObject({ problems: [{ text: `3 deliveries ${causes}` }] })
  await admin('/v1/deliveries/retry', { all: true })
  await expect.poll(() => settled).toHaveLength(6)
  const lost = expect.objectContaining({ text: `1 delivery ${causes}` }) as unknown
  expect(await problems()).toMatchObject({ problems: expect.arrayContaining([lost]) as unknown })
})

test('deliveries that failed are no longer a problem once they are delivered', async () => {
  const endpoint = await TestEndpoint.start([404, 200])
  const clock = manualClock()
  const { track, admin, settled } = await startService(documentFor(endpoint), clock)
  const problems = async () => (await admin('/v1/overview')).body
  await track('m_1')
  await expect.poll(() => settled).toHaveLength(1)
  const refused = { text: expect.stringContaining('refuses webhooks') as unknown }
  expect(await problems()).toMatchObject({ problems: [refused] })
  await clock.advance(6 * minuteMs)
  const lost = { destination: 'crm', text: '1 delivery failed or expired: answered 404.' }
  expect(await problems()).toMatchObject({ problems: [lost] })
  await admin('/v1/deliveries/retry', { all: true })
  await expect.poll(() => settled).toHaveLength(2)
  expect(await problems()).toMatchObject({ problems: [] })
})

test('deliveries that failed are no longer a problem once they are discarded', async () => {
  const endpoint = await TestEndpoint.start([404, 200])
  const clock = manualClock()
  const { track, admin, settled } = await startService(documentFor(endpoint), clock)
  const problems = async () => (await admin('/v1/overview')).body
  await track('m_1')
  await expect.poll(() => settled).toHaveLength(1)
  await admin('/v1/destinations/crm/disable', {})
  await admin('/v1/deliveries/retry', { all: true })
  await admin('/v1/deliveries/discard', { all: true })
  await admin('/v1/destinations/crm/enable', {})
  await clock.advance(6 * minuteMs)
  expect(await problems()).toMatchObject({ problems: [] })
})

test('an endpoint that accepts webhooks again is no longer a problem', async () => {
  const endpoint = await TestEndpoint.start([404, 200])
  const { track, admin, settled } = await startService(documentFor(endpoint), manualClock())
  const problems = async () => (await admin('/v1/overview')).body
  await track('m_1')
  await expect.poll(() => settled).toHaveLength(1)
  await admin('/v1/deliveries/retry', { all: true })
  await expect.poll(() => settled).toHaveLength(2)
  expect(await problems()).toMatchObject({ problems: [] })
})
