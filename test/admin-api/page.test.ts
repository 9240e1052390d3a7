import { describe, expect, test } from 'vitest'
import { formatTimestamp } from '../../src/model/index.ts'
import { PageSessions } from '../../src/http/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { failed, nowMs } from '../cli/deliveries/stores.ts'
import { sendRequest, startAdmin, token, type AdminSettings } from './support.ts'

/** An admin API, its sessions, and the headers of a signed-in browser. */
async function startPage(settings: AdminSettings = {}) {
  const clock = new ManualClock(nowMs)
  const sessions = new PageSessions({ clock })
  const admin = await startAdmin({ clock, ...settings, options: { sessions, ...settings.options } })
  const page = `${admin.url}/_evroute`
  const { port, url } = admin
  const cookie = sessions.open({ headers: {}, socket: { localPort: port } }).split(';')[0]!
  const json = { 'content-type': 'application/json' }
  const own = { cookie, origin: url, ...json }
  const get = (path: string, headers: Readonly<Record<string, string>> = { cookie }) =>
    sendRequest(`${page}${path}`, { hasToken: false, headers })
  const act = (path: string, body: object, headers: Readonly<Record<string, string>> = own) =>
    sendRequest(`${page}${path}`, { hasToken: false, method: 'POST', headers, body })
  return { ...admin, sessions, page, own, get, act }
}

describe('signing in', () => {
  test('by a link works once, and sets a cookie that scripts and other sites cannot use', async () => {
    const { sessions, get } = await startPage()
    const path = `/sign-in?token=${sessions.newLink()}`
    const first = await get(path, {})
    expect(first).toMatchObject({ status: 303, headers: { location: './' } })
    const setCookie = String(first.headers['set-cookie'])
    expect(setCookie).toMatch(
      /^evroute-\d+=[\w-]{43}; Path=\/_evroute\/; HttpOnly; SameSite=Strict/,
    )
    expect(await get('/v1/ledger', { cookie: setCookie.split(';')[0]! })).toMatchObject({
      status: 200,
    })
    const second = await get(path, {})
    expect(second).toMatchObject({ status: 303, headers: { location: './?link=refused' } })
    expect(second.headers['set-cookie']).toBeUndefined()
    expect(await get('/sign-in', {})).toMatchObject({ headers: { location: './?link=refused' } })
  })

  test('works with the admin token, and signing out ends it', async () => {
    const { act, get, own } = await startPage()
    const withoutCookie = { ...own, cookie: '' }
    const wrong = await act('/sign-in', { token: 'wrong' }, withoutCookie)
    expect(wrong).toMatchObject({ status: 401, body: { error: { message: 'The token is wrong' } } })
    const right = await act('/sign-in', { token }, withoutCookie)
    expect(right.status).toBe(204)
    const cookie = String(right.headers['set-cookie']).split(';')[0]!
    expect(await get('/v1/ledger', { cookie })).toMatchObject({ status: 200 })
    expect(await act('/sign-out', {}, { ...own, cookie })).toMatchObject({ status: 204 })
    expect(await get('/v1/ledger', { cookie })).toMatchObject({ status: 401 })
  })
})

test('wrong tokens and links are logged with their client, and counted', async () => {
  const { act, get, own, url, metrics, warnings } = await startPage()
  await act('/sign-in', { token: 'wrong' }, own)
  await get('/sign-in?token=wrong', {})
  await sendRequest(`${url}/v1/ledger`, {
    hasToken: false,
    headers: { authorization: 'Bearer wrong' },
  })
  await sendRequest(`${url}/v1/ledger`, { hasToken: false })
  await sendRequest(`${url}/v1/ledger`)
  expect(await metrics.text()).toContain('\nevroute_admin_wrong_tokens_total 3\n')
  const message = 'a wrong token or link for the admin API was refused'
  const warning = { message, client: '127.0.0.1' }
  expect(warnings).toMatchObject([warning, warning, warning])
})

/** The path of every action. */
const actions = [
  '/v1/deliveries/retry',
  '/v1/deliveries/discard',
  '/v1/destinations/crm/enable',
  '/v1/destinations/crm/disable',
  '/v1/destinations/crm/test',
  '/v1/replay',
  '/v1/audiences/sync?name=vip',
  '/v1/audiences/vip/remove',
  '/v1/regulations',
  '/sign-out',
]

describe('a session', () => {
  test("is required for the page's API, even with a token, and is not accepted elsewhere", async () => {
    const { url, own, get } = await startPage()
    expect(await get('/v1/overview')).toMatchObject({ status: 200, body: { kind: 'overview' } })
    expect(await get('/v1/overview', {})).toMatchObject({ status: 401 })
    expect(await get('/v1/overview', { authorization: `Bearer ${token}` })).toMatchObject({
      status: 401,
    })
    expect(await get('/v1/nothing')).toMatchObject({ status: 404 })
    for (const path of ['/v1/overview', '/metrics']) {
      expect(await sendRequest(`${url}${path}`, { hasToken: false, headers: own })).toMatchObject({
        status: 401,
      })
    }
  })

  test('shows no data to pages on other ports, although their requests carry the cookie, but lets them link to it', async () => {
    const { get, own, sessions } = await startPage()
    const site = { cookie: own.cookie, 'sec-fetch-site': 'same-site' }
    const link = { ...site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    expect(await get('/v1/overview', site)).toMatchObject({ status: 403 })
    expect(await get('/v1/overview', link)).toMatchObject({ status: 403 })
    expect(await get('/v1/overview', { ...site, 'sec-fetch-site': 'same-origin' })).toMatchObject({
      status: 200,
    })
    expect(await get('/', link)).toMatchObject({ status: 200 })
    const path = `/sign-in?token=${sessions.newLink()}`
    expect(await get(path, link)).toMatchObject({ status: 303, headers: { location: './' } })
  })

  test('accepts requests from its own page only', async () => {
    const samples = [failed]
    const { act, own, port, store } = await startPage({ samples })
    const retry = (headers: Readonly<Record<string, string>>) =>
      act('/v1/deliveries/retry', { all: true }, headers)
    const withoutOrigin = { cookie: own.cookie, 'content-type': 'application/json' }
    for (const headers of [
      withoutOrigin,
      { ...own, origin: 'https://example.com' },
      // A different port of this machine is the same site, so its requests carry the cookie.
      { ...own, origin: `http://127.0.0.1:${port + 1}` },
      { ...own, origin: 'null' },
      { ...own, 'content-type': 'text/plain' },
      { ...own, 'content-type': 'application/x-www-form-urlencoded' },
      { ...own, host: 'rebound.example.com', origin: 'http://rebound.example.com' },
    ]) {
      for (const path of actions) {
        expect([path, await act(path, { all: true }, headers)]).toMatchObject([
          path,
          { status: 403 },
        ])
      }
    }
    expect(await retry({ ...own, cookie: 'evroute-1=guessed' })).toMatchObject({ status: 401 })
    expect((await store.ledger()).failed).toBe(1)
    expect(await retry(own)).toMatchObject({ status: 200, body: { kind: 'retry', deliveries: 1 } })
  })
})

test("the page's files need no session, allow no other scripts, and are read-only", async () => {
  const { get, page, own } = await startPage()
  const { status, headers, text } = await get('/', {})
  expect(status).toBe(200)
  expect(String(headers['content-security-policy'])).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'$/,
  )
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  const [, script = ''] = /src="\.\/(assets\/[^"]+\.js)"/.exec(text) ?? []
  expect(await get(`/${script}`, {})).toMatchObject({ status: 200 })
  expect(await get('/..%2f..%2fpackage.json', {})).toMatchObject({ status: 404 })
  expect(await get('/', { host: 'rebound.example.com' })).toMatchObject({ status: 403 })
  const posted = await sendRequest(`${page}/`, {
    hasToken: false,
    method: 'POST',
    headers: own,
    body: {},
  })
  expect(posted).toMatchObject({ status: 405 })
})

test('GET /v1/overview reports the last hour, delivery latency and current problems', async () => {
  const clock = new ManualClock(nowMs)
  const url = 'https://hooks.example.com/secret/path'
  const at = formatTimestamp(nowMs)
  const probeAtMs = nowMs + 30_000
  const fault = { reason: 'status_404', failures: 3, since: at, last: at }
  const state = 'open'
  const endpoint = {
    url,
    breaker: state,
    probeAt: formatTimestamp(probeAtMs),
    faults: [fault],
  } as const
  const destination = {
    ...{ id: 'crm', enabled: true, sources: ['website'], endpoints: [endpoint] },
    ...{ deliveries: 9, delivered: 5, failed: 0, expired: 0, pending: 4 },
  }
  const off = { ...destination, id: 'mail', enabled: false, endpoints: [] }
  const idle = { ...destination, id: 'idle', pending: 0, endpoints: [{ ...endpoint, faults: [] }] }
  const { url: admin, metrics } = await startAdmin({
    clock,
    options: {
      destinations: () => Promise.resolve([destination, off, idle]),
      ready: () => Promise.resolve(['The store does not answer']),
      orphanedBacklogs: () => Promise.resolve([{ destinationId: 'gone', pending: 1 }]),
    },
  })
  metrics.configured([destination, idle])
  metrics.endpoint({ destinationId: 'crm', url, state, probeAtMs, error: 'ECONNREFUSED' })
  metrics.calls({ sourceId: 'website', outcome: 'routed', count: 3 })
  metrics.calls({ sourceId: 'website', outcome: 'no_event', count: 5 })
  const settled = { messageId: 'm', type: 'track', destinationId: 'crm', attempts: 1 } as const
  metrics.settled({ ...settled, state: 'delivered', acceptedAtMs: nowMs - 40, reason: null })
  await clock.advance(60_000)
  metrics.settled({ ...settled, state: 'failed', acceptedAtMs: nowMs, reason: 'status_404' })
  metrics.gaveUp({ destinationId: 'crm', reason: 'backlog_full', deliveries: 2 })
  const { body } = await sendRequest(`${admin}/v1/overview`)
  const { minutes, problems, latency, ledger } = body as {
    minutes: object[]
    problems: { text: string; destination: string | null; moment: object | null }[]
    latency: object
    ledger: object
  }
  expect(minutes).toHaveLength(60)
  expect(minutes.slice(-2)).toMatchObject([
    { accepted: 3, delivered: 1, failed: 0 },
    { accepted: 0, delivered: 0, failed: 3 },
  ])
  expect(latency).toEqual({ deliveries: 1, p50: 40, p99: 40 })
  expect(ledger).toMatchObject({ deliveries: 0 })
  const down =
    /^https:\/\/hooks\.example\.com\/…#\w+ is down: connection refused \(ECONNREFUSED\)\. Its deliveries wait\.$/
  expect(problems.map(({ destination: about, text, moment }) => [about, text, moment])).toEqual([
    [null, 'The store does not answer.', null],
    [
      'crm',
      expect.stringMatching(down),
      { name: 'Next probe', at: formatTimestamp(nowMs + 30_000) },
    ],
    [
      'crm',
      expect.stringMatching(/refuses webhooks: answered 404, 3 times\.$/),
      { name: 'Since', at: formatTimestamp(nowMs) },
    ],
    ['mail', 'The destination is disabled, and 4 deliveries wait.', null],
    ['idle', expect.stringMatching(/#\w+ was down when it was last tried\.$/), null],
    ['gone', 'The destination is not configured, and 1 delivery waits.', null],
  ])
  await clock.advance(60 * 60_000)
  const later = (await sendRequest(`${admin}/v1/overview`)).body as { minutes: object[] }
  expect(JSON.stringify(later.minutes)).not.toMatch(/[1-9]\d*,"(delivered|failed)":[1-9]/)
})
