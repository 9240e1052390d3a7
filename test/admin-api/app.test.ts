import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { emptyLedger, EvrouteError } from '../../src/model/index.ts'
import { failed } from '../cli/deliveries/stores.ts'
import { access, sendRequest, startAdmin, token, type RequestOptions } from './support.ts'

const refusal = (code: string, message: unknown = expect.any(String)) => ({
  error: { code, message },
})

/** The ledger that the store returns. */
const ledger = { ...emptyLedger, accepted: 1, routed: 1, deliveries: 1, failed: 1 }

type Row = readonly [
  name: string,
  path: string,
  request: RequestOptions,
  expected: {
    readonly status: number
    readonly body?: unknown
    readonly headers?: Readonly<Record<string, string>>
  },
]

const post = (body: RequestOptions['body']): RequestOptions => ({
  method: 'POST',
  ...(body === undefined ? {} : { body }),
})

const rows: readonly Row[] = [
  ['health', '/healthz', { hasToken: false }, { status: 200, body: { status: 'ok' } }],
  ['health, with a query', '/healthz?x=1', { hasToken: false }, { status: 200 }],
  ['readiness', '/readyz', { hasToken: false }, { status: 200, body: { status: 'ready' } }],
  [
    'health by POST',
    '/healthz',
    { method: 'POST', hasToken: false },
    { status: 405, body: refusal('method_not_allowed'), headers: { allow: 'GET, HEAD' } },
  ],
  [
    'no token',
    '/v1/ledger',
    { hasToken: false },
    {
      status: 401,
      body: refusal('unauthorized'),
      headers: { 'www-authenticate': 'Bearer realm="evroute"' },
    },
  ],
  ['no token for metrics', '/metrics', { hasToken: false }, { status: 401 }],
  ['no token, for an unknown path below /v1', '/v1/nothing', { hasToken: false }, { status: 401 }],
  ['no token, in capitals', '/V1/LEDGER', { hasToken: false }, { status: 401 }],
  [
    'no token, with another method',
    '/v1/ledger',
    { hasToken: false, method: 'PUT' },
    { status: 401 },
  ],
  [
    'another token',
    '/v1/ledger',
    { headers: { authorization: `Bearer ${token}x` } },
    { status: 401 },
  ],
  ['an empty token', '/v1/ledger', { headers: { authorization: 'Bearer ' } }, { status: 401 }],
  [
    'the token as a password',
    '/v1/ledger',
    { headers: { authorization: `Basic ${Buffer.from(`:${token}`).toString('base64')}` } },
    { status: 401 },
  ],
  ['the token in the query', `/v1/ledger?token=${token}`, { hasToken: false }, { status: 401 }],
  [
    'the scheme in small letters',
    '/v1/ledger',
    { headers: { authorization: `bearer  ${token}` } },
    { status: 200, body: { v: 1, kind: 'ledger', ...ledger } },
  ],
  ['a slash at the end', '/v1/ledger/', {}, { status: 200 }],
  ['HEAD', '/v1/ledger', { method: 'HEAD' }, { status: 200 }],
  [
    'a foreign host name',
    '/healthz',
    { headers: { host: 'evil.example' } },
    { status: 403, body: refusal('host_not_allowed') },
  ],
  [
    'a page of another origin',
    '/v1/ledger',
    { headers: { origin: 'https://evil.example' } },
    { status: 403, body: refusal('origin_not_allowed') },
  ],
  [
    'a preflight',
    '/v1/ledger',
    { method: 'OPTIONS', hasToken: false, headers: { origin: 'null' } },
    { status: 403 },
  ],
  [
    'an unknown path',
    '/',
    {},
    {
      status: 404,
      body: refusal(
        'not_found',
        'There is nothing at this path; the page is at /_evroute/, and /openapi.json describes the API',
      ),
    },
  ],
  ['an unknown path, without a token', '/other', { hasToken: false }, { status: 404 }],
  ['an unknown path below /v1', '/v1/nothing', {}, { status: 404, body: refusal('not_found') }],
  ['the path //', '//', {}, { status: 404 }],
  [
    'a path that cannot be decoded',
    '/v1/deliveries/%E0%A4/1',
    {},
    { status: 400, body: refusal('invalid_request') },
  ],
  [
    'another method',
    '/v1/deliveries',
    { method: 'DELETE' },
    { status: 405, body: refusal('method_not_allowed'), headers: { allow: 'GET, HEAD' } },
  ],
  ['OPTIONS', '/v1/audit', { method: 'OPTIONS' }, { status: 405, headers: { allow: 'GET, HEAD' } }],
  ['a retry by GET', '/v1/deliveries/retry', {}, { status: 405, headers: { allow: 'POST' } }],
  [
    'metrics by POST',
    '/metrics',
    { method: 'POST' },
    { status: 405, headers: { allow: 'GET, HEAD' } },
  ],
  [
    'an unknown delivery',
    '/v1/deliveries/crm/9',
    {},
    { status: 404, body: refusal('not_found', 'There is no such delivery') },
  ],
  ['an invalid id', '/v1/deliveries/crm/x', {}, { status: 404 }],
  [
    'invalid JSON',
    '/v1/deliveries/retry',
    post('{"all":'),
    { status: 400, body: refusal('invalid_json') },
  ],
  [
    'a list as the body',
    '/v1/deliveries/retry',
    post('[]'),
    { status: 400, body: refusal('invalid_request') },
  ],
  [
    'a scalar',
    '/v1/deliveries/retry',
    post('true'),
    { status: 400, body: refusal('invalid_json') },
  ],
  [
    'no body',
    '/v1/deliveries/retry',
    post(undefined),
    { status: 400, body: refusal('nothing_selected') },
  ],
  [
    'nothing selected',
    '/v1/deliveries/retry',
    post({}),
    { status: 400, body: refusal('nothing_selected') },
  ],
  [
    'all: false',
    '/v1/deliveries/retry',
    post({ all: false }),
    { status: 400, body: refusal('invalid_request') },
  ],
  [
    'an unknown condition',
    '/v1/deliveries/retry',
    post({ states: 'failed' }),
    { status: 400, body: refusal('invalid_request') },
  ],
  [
    'a body with __proto__',
    '/v1/deliveries/retry',
    post('{"__proto__":{"all":true}}'),
    { status: 400 },
  ],
  [
    'an id and all',
    '/v1/deliveries/retry',
    post({ id: 'crm/1', all: true }),
    { status: 400, body: refusal('invalid_request') },
  ],
  [
    'an id and a state',
    '/v1/deliveries/retry',
    post({ id: 'crm/1', state: 'failed' }),
    { status: 400 },
  ],
  [
    'a state and all',
    '/v1/deliveries/retry',
    post({ state: 'failed', all: true }),
    { status: 400 },
  ],
  [
    'a retry of delivered webhooks',
    '/v1/deliveries/retry',
    post({ state: 'delivered' }),
    { status: 400, body: refusal('invalid_request') },
  ],
  [
    'a retry of an unknown delivery',
    '/v1/deliveries/retry',
    post({ id: 'crm/9' }),
    { status: 404, body: refusal('not_found', 'There is no such delivery') },
  ],
  ['an empty list of types', '/v1/deliveries/retry', post({ type: [] }), { status: 400 }],
  ['a retry limit of 0', '/v1/deliveries/retry', post({ all: true, limit: 0 }), { status: 400 }],
  [
    'an id without a number',
    '/v1/deliveries/retry',
    post({ id: 'crm' }),
    { status: 400, body: refusal('invalid_request') },
  ],
  [
    'a retry of all',
    '/v1/deliveries/retry',
    post({ all: true }),
    { status: 200, body: { v: 1, kind: 'retry', deliveries: 1, next: null } },
  ],
  [
    'any type of body',
    '/v1/deliveries/retry',
    { ...post({ all: true }), headers: { 'content-type': 'text/plain' } },
    { status: 200 },
  ],
  [
    'a body of 64 KB',
    '/v1/deliveries/retry',
    post(`{"user":"${'x'.repeat(64 * 1024 - 11)}"}`),
    { status: 200 },
  ],
  [
    'a longer body',
    '/v1/deliveries/retry',
    post(`{"user":"${'x'.repeat(64 * 1024 - 10)}"}`),
    { status: 413, body: refusal('body_too_large'), headers: { connection: 'keep-alive' } },
  ],
  [
    'a compressed body',
    '/v1/deliveries/retry',
    { ...post(gzipSync('{"all":true}')), headers: { 'content-encoding': 'gzip' } },
    { status: 415, body: refusal('unsupported_encoding') },
  ],
  [
    'a replay without an archive',
    '/v1/replay',
    post({ all: true }),
    { status: 409, body: refusal('no_archive') },
  ],
  [
    'a replay without conditions',
    '/v1/replay',
    post({}),
    { status: 400, body: refusal('nothing_selected') },
  ],
  [
    'an unknown state',
    '/v1/deliveries?state=leased',
    {},
    { status: 400, body: refusal('invalid_request') },
  ],
  ['an unknown parameter', '/v1/deliveries?stat=failed', {}, { status: 400 }],
  ['two users', '/v1/deliveries?user=a&user=b', {}, { status: 400 }],
  ['a limit of 0', '/v1/deliveries?limit=0', {}, { status: 400, body: refusal('invalid_request') }],
  ['a limit of 501', '/v1/deliveries?limit=501', {}, { status: 400 }],
  ['a limit of 5e1', '/v1/deliveries?limit=5e1', {}, { status: 400 }],
  ['an invalid cursor', '/v1/deliveries?before=crm', {}, { status: 400 }],
  [
    'an invalid timestamp',
    '/v1/deliveries?since=yesterday',
    {},
    { status: 400, body: refusal('invalid_request') },
  ],
  ['an id and a destination', '/v1/deliveries?id=crm%2F1&destination=mail', {}, { status: 400 }],
]

describe('the admin API', () => {
  const cases = rows.map(([name, ...rest]) => [name, rest] as const)

  test.each(cases)('answers %s', async (_, [path, request, { status, body, headers = {} }]) => {
    const { url } = await startAdmin({ samples: [failed] })
    const answer = await sendRequest(url + path, request)
    expect(answer).toMatchObject({ status, headers })
    if (body !== undefined) expect(answer.body).toEqual(body)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.headers['cache-control']).toBe('no-store')
    const names = Object.keys(answer.headers)
    expect(names.filter((name) => /^access-control|^x-powered|^etag/.test(name))).toEqual([])
    expect(answer.text).not.toMatch(/node_modules|\.ts/)
    if (request.method === 'HEAD') expect(answer.text).toBe('')
  })

  test('answers the health check while it reports why it is not ready', async () => {
    const ready = () => Promise.resolve(['The store cannot be written to'])
    const { url } = await startAdmin({ options: { ready } })
    expect(await sendRequest(`${url}/readyz`)).toMatchObject({
      status: 503,
      body: { status: 'not_ready', reasons: ['The store cannot be written to'] },
    })
    expect(await sendRequest(`${url}/healthz`)).toMatchObject({ status: 200 })
  })

  test('is not ready if the check fails, and reveals no details', async () => {
    const ready = () => Promise.reject(new Error('at /srv/secret.ts'))
    const { url, warnings } = await startAdmin({ options: { ready } })
    const { status, body } = await sendRequest(`${url}/readyz`)
    expect({ status, body }).toEqual({
      status: 503,
      body: { status: 'not_ready', reasons: ['Readiness could not be checked'] },
    })
    expect(warnings).toMatchObject([{ error: 'at /srv/secret.ts' }])
  })

  test.each([
    [new Error('at /srv/secret.ts'), 500, 'internal_error'],
    [
      new EvrouteError({ code: 'store_closed', message: '/srv/secret.db' }),
      503,
      'store_unavailable',
    ],
    [
      new EvrouteError({ code: 'store_unusable', message: '/srv/secret.db' }),
      503,
      'store_unavailable',
    ],
    [undefined, 500, 'internal_error'],
  ])('does not reveal an internal error: %s', async (error, status, code) => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- any value can be thrown
    const store = { ledger: () => Promise.reject(error) }
    const { url, warnings } = await startAdmin({ options: { store: store as never } })
    const answer = await sendRequest(`${url}/v1/ledger`)
    expect(answer).toMatchObject({ status, body: refusal(code) })
    expect(answer.text).not.toContain('secret')
    expect(warnings).toMatchObject([{ message: 'a request to the admin API failed' }])
  })

  test('accepts a token of any characters', async () => {
    const { url } = await startAdmin({ options: { access: { ...access, token: 'schlüssel 🔑' } } })
    const authorization = `Bearer ${Buffer.from('schlüssel 🔑').toString('latin1')}`
    expect(await sendRequest(`${url}/v1/ledger`, { headers: { authorization } })).toMatchObject({
      status: 200,
    })
  })

  test('refuses a request without a host', async () => {
    const { port } = await startAdmin()
    const socket = connect(port, '127.0.0.1')
    socket.end('GET /healthz HTTP/1.0\r\n\r\n')
    const [head] = (await once(socket, 'data')) as [Buffer]
    expect(head.toString()).toMatch(/^HTTP\/1\.1 403 /)
  })
})
