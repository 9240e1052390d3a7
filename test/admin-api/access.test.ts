import { describe, expect, test } from 'vitest'
import { failed } from '../cli/deliveries/stores.ts'
import { access, sendRequest, startAdmin, token } from './support.ts'

const metricsToken = 'metrics-token-no-secret'
const byMetricsToken = { headers: { authorization: `Bearer ${metricsToken}` } }
const retryAll = { method: 'POST', body: { all: true } } as const

describe('the metrics token', () => {
  test.each([
    ['/metrics', 200],
    ['/healthz', 200],
    ['/readyz', 200],
    ['/v1/ledger', 401],
    ['/v1/deliveries?limit=1', 401],
    ['/_evroute/v1/ledger', 401],
    ['/metrics/x', 404],
  ])('gets %s answered with %i', async (path, status) => {
    const { url } = await startAdmin({ options: { access: { ...access, metricsToken } } })
    expect(await sendRequest(url + path, byMetricsToken)).toMatchObject({ status })
  })

  test('can neither perform actions nor sign in', async () => {
    const { url, infos } = await startAdmin({ options: { access: { ...access, metricsToken } } })
    const retried = await sendRequest(`${url}/v1/deliveries/retry`, {
      ...retryAll,
      ...byMetricsToken,
    })
    const signedIn = await sendRequest(`${url}/_evroute/sign-in`, {
      method: 'POST',
      headers: { origin: url, 'content-type': 'application/json' },
      body: { token: metricsToken },
    })
    expect([retried.status, signedIn.status, infos]).toEqual([401, 401, []])
  })

  test('does not replace the admin token, which also reads the metrics', async () => {
    const { url } = await startAdmin({ options: { access: { ...access, metricsToken } } })
    expect(await sendRequest(`${url}/metrics`)).toMatchObject({ status: 200 })
    expect(await sendRequest(`${url}/metrics`, { hasToken: false })).toMatchObject({ status: 401 })
  })

  test('is refused if none is configured', async () => {
    const { url } = await startAdmin()
    expect(await sendRequest(`${url}/metrics`, byMetricsToken)).toMatchObject({ status: 401 })
  })
})

describe('an admin API reachable from other machines', () => {
  const open = { access: { ...access, host: '0.0.0.0' } }

  test.each([
    [{ host: 'evroute.example.com:4001' }, 200],
    [{ host: 'evroute.example.com', origin: 'https://evroute.example.com' }, 200],
    [{ host: 'evroute.example.com', origin: 'https://example.com' }, 403],
    [{ host: 'not a host', origin: 'https://example.com' }, 403],
  ])('answers %j with %i', async (headers, status) => {
    const { url } = await startAdmin({ options: open })
    expect(await sendRequest(`${url}/v1/ledger`, { headers })).toMatchObject({ status })
  })

  test.each(['127.0.0.1', '::1', 'localhost'])(
    'refuses foreign hosts when it listens on %s',
    async (host) => {
      const { url } = await startAdmin({ options: { access: { ...access, host } } })
      const foreign = { headers: { host: 'evroute.example.com' } }
      expect(await sendRequest(`${url}/v1/ledger`, foreign)).toMatchObject({ status: 403 })
    },
  )
})

describe('the log of actions', () => {
  test('has a line for each action, with the caller and the number of deliveries', async () => {
    const { url, infos } = await startAdmin({ samples: [failed] })
    await sendRequest(`${url}/v1/deliveries/retry`, retryAll)
    await sendRequest(`${url}/v1/deliveries/retry`, retryAll)
    const by = expect.stringMatching(/^token [\da-f]{8}$/) as unknown
    const line = { message: 'admin action', by, path: '/deliveries/retry' }
    expect(infos).toEqual([
      { ...line, deliveries: 1 },
      { ...line, deliveries: 0 },
    ])
    expect(JSON.stringify(infos)).not.toContain(token)
  })

  test('names the page as the caller', async () => {
    const { url, infos } = await startAdmin({ samples: [failed] })
    const headers = { origin: url, 'content-type': 'application/json' }
    const signedIn = await sendRequest(`${url}/_evroute/sign-in`, {
      method: 'POST',
      headers,
      body: { token },
    })
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? ''
    await sendRequest(`${url}/_evroute/v1/deliveries/retry`, {
      ...retryAll,
      hasToken: false,
      headers: { ...headers, cookie },
    })
    expect(infos).toMatchObject([{ by: 'page', path: '/deliveries/retry', deliveries: 1 }])
  })

  test('has no line for a read or a refused action', async () => {
    const { url, infos } = await startAdmin({ samples: [failed] })
    await sendRequest(`${url}/v1/deliveries`)
    await sendRequest(`${url}/v1/deliveries/retry`, { method: 'POST', body: {} })
    await sendRequest(`${url}/v1/deliveries/retry`, { ...retryAll, hasToken: false })
    expect(infos).toEqual([])
  })

  test('has a line for an action that failed halfway', async () => {
    const remove = () => Promise.reject(new Error('not a real failure'))
    const unexpected = () => Promise.reject(new Error('Not expected in this test'))
    const audiences = { list: unexpected, members: unexpected, sync: unexpected, remove }
    const { url, infos } = await startAdmin({ options: { audiences } })
    await sendRequest(`${url}/v1/audiences/vip/remove`, { method: 'POST' })
    expect(infos).toMatchObject([{ path: '/audiences/vip/remove', outcome: 'failed' }])
  })
})
