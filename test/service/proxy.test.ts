import { expect, test } from 'vitest'
import { TestEndpoint } from '../support/endpoint.ts'
import { unreachableUrl } from '../support/free-port.ts'
import { TestProxy } from '../support/proxy.ts'
import { documentFor, manualClock, startService } from './running-service.ts'

const secret = 'not-a-real-password'

/** The URL of a proxy with credentials. */
const withCredentials = (url: string): string => url.replace('//', `//evroute:${secret}@`)

/** A configuration whose only endpoint has a name that only the proxy resolves. */
function documentBehind(proxy: string | null, endpoint: TestEndpoint): object {
  const url = endpoint.url.replace('127.0.0.1', 'hooks.example.com')
  return documentFor(endpoint, { network: { proxy }, destination: { endpoints: [{ url }] } })
}

test('webhooks go through the proxy, and after a reload through the new one', async () => {
  const endpoint = await TestEndpoint.start()
  const [first, second] = [await TestProxy.start(), await TestProxy.start()]
  const document = documentBehind(withCredentials(first.url), endpoint)
  const { track, reconfigure, settled } = await startService(document)
  await track('m_1')
  await expect.poll(() => settled).toMatchObject([{ messageId: 'm_1', state: 'delivered' }])
  expect(first.tunnels).toHaveLength(1)
  expect(await reconfigure(documentBehind(second.url, endpoint))).toEqual([
    { setting: 'network.proxy', kind: 'changed', effect: 'at_once' },
  ])
  await track('m_2')
  await expect.poll(() => settled).toMatchObject([{}, { messageId: 'm_2', state: 'delivered' }])
  expect([first.tunnels.length, second.tunnels.length]).toEqual([1, 1])
})

test('a failing proxy is named in the delivery log, and the webhook is sent once it is back', async () => {
  const [endpoint, proxy] = [await TestEndpoint.start(), await TestProxy.start(407)]
  const clock = manualClock()
  const document = documentBehind(withCredentials(proxy.url), endpoint)
  const running = await startService(document, clock)
  const { track, admin, settled, warnings } = running
  await track('m_1')
  await expect
    .poll(async () => (await admin('/v1/deliveries')).body)
    .toMatchObject({ deliveries: [{ attempts: 1, reason: 'proxy_status_407', state: 'pending' }] })
  const answers = await Promise.all(
    ['/metrics', '/v1/destinations?reveal=true', '/v1/deliveries/crm/1?reveal=true'].map((path) =>
      admin(path),
    ),
  )
  expect(answers[0]?.body).toContain('reason="proxy_status_407"')
  expect(answers[2]?.body).toMatchObject({ requests: [{ error: 'proxy_status_407' }] })
  proxy.plan = 'open'
  await clock.advance(15_000)
  await expect.poll(() => settled).toMatchObject([{ messageId: 'm_1', state: 'delivered' }])
  expect(JSON.stringify([answers, warnings, running.infos])).not.toContain(secret)
})

test('while the proxy is down, deliveries are parked after ten requests and use up no attempts', async () => {
  const endpoint = await TestEndpoint.start()
  const proxy = new URL(await unreachableUrl()).origin
  const { track, admin, warnings } = await startService(
    documentBehind(proxy, endpoint),
    manualClock(),
  )
  for (let count = 1; count <= 12; count++) {
    await track(`m_${count}`)
    const attempted = Math.min(count, 10)
    await expect
      .poll(async () => (await admin('/metrics')).body)
      .toMatch(
        new RegExp(`evroute_webhook_failures_total\\{.*proxy_ECONNREFUSED.*\\} ${attempted}\\n`),
      )
  }
  const { body } = await admin('/v1/destinations')
  expect(JSON.stringify(body)).toContain('"open"')
  expect(warnings).toContainEqual(
    expect.objectContaining({ destinationId: 'crm', error: 'proxy_ECONNREFUSED' }),
  )
})

test('a private address is refused without asking the proxy', async () => {
  const [endpoint, proxy] = [await TestEndpoint.start(), await TestProxy.start()]
  const document = documentFor(endpoint, { network: { allow: ['127.0.0.1'], proxy: proxy.url } })
  const { track, reconfigure, settled } = await startService(document)
  await track('m_1')
  await expect.poll(() => settled).toMatchObject([{ messageId: 'm_1', state: 'delivered' }])
  await expect(
    reconfigure(documentFor(endpoint, { network: { proxy: proxy.url } })),
  ).rejects.toThrow(/endpoints\[0\]\.url.*network\.allow/)
  expect(proxy.tunnels).toHaveLength(1)
})
