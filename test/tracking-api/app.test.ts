import { describe, expect, test } from 'vitest'
import { basic, disabledWriteKey, now, send, startApi, writeKey } from './support.ts'

const ids = { userId: 'user-1', groupId: 'group-1', previousId: 'anonymous-1', event: 'Ping' }

describe('paths', () => {
  test.each([
    ['identify', 'i'],
    ['track', 't'],
    ['page', 'p'],
    ['screen', 's'],
    ['group', 'g'],
    ['alias', 'a'],
  ])('%s sets the type, overriding the body', async (type, letter) => {
    const { url, webhooks } = await startApi()
    for (const name of [type, letter]) {
      for (const path of [`/v1/${name}`, `/v1/${name}/`, `/${name}`, `/${name}/?writeKey=x`]) {
        const body = JSON.stringify({ ...ids, type: 'delete', writeKey })
        expect((await send(url, { path, body })).status).toBe(200)
      }
    }
    const types = (await webhooks()).map((webhook) => webhook['type'])
    expect(types).toEqual(Array.from({ length: 8 }, () => type))
  })

  test.each(['batch', 'import', 'b'])('%s accepts batches', async (name) => {
    const { url, webhooks } = await startApi()
    for (const path of [`/v1/${name}`, `/v1/${name}/`, `/${name}`, `/${name}/`]) {
      const body = JSON.stringify({ batch: [{ ...ids, type: 'track' }], writeKey })
      expect((await send(url, { path, body })).status).toBe(200)
    }
    expect(await webhooks()).toHaveLength(4)
  })

  test.each(['/', '/v1', '/v1/batches', '/v1/v1/batch', '/v1/delete', '/v1/batch/x', '//', '/%'])(
    '%s is unknown',
    async (path) => {
      const { url } = await startApi()
      expect((await send(url, { path, body: '{}' })).status).toBe(404)
    },
  )
})

test('a browser at the root gets an explanation, and a program gets JSON', async () => {
  const { url } = await startApi()
  const get = (accept: string): Promise<Response> => fetch(url, { headers: { accept } })
  expect(await (await get('text/html,*/*;q=0.8')).text()).toMatch(/^This is the tracking API/)
  expect(await (await get('*/*')).json()).toMatchObject({ code: 'not_found' })
})

describe('write keys', () => {
  const body = (key?: string) => JSON.stringify({ ...ids, writeKey: key })
  const wrong = 'wk_wrong'

  test.each([
    ['Basic with a colon', { headers: basic(`${writeKey}:`), body: body(wrong) }],
    ['Basic without one', { headers: basic(writeKey), body: body(wrong) }],
    ['Basic with a password', { headers: basic(`${writeKey}:secret`), body: body(wrong) }],
    [
      'Basic before X-Write-Key',
      { headers: { ...basic(`${writeKey}:`), 'x-write-key': wrong }, body: body() },
    ],
    ['X-Write-Key before the body', { headers: { 'x-write-key': writeKey }, body: body(wrong) }],
    ['the body before the query', { path: `/v1/track?writeKey=${wrong}`, body: body(writeKey) }],
    ['the query', { path: `/v1/track?writeKey=${writeKey}`, body: body() }],
    ['the body beside a token', { headers: { authorization: 'Bearer x' }, body: body(writeKey) }],
    ['the body beside an empty user', { headers: basic(':x'), body: body(writeKey) }],
    ['the body beside an empty header', { headers: { 'x-write-key': '' }, body: body(writeKey) }],
  ])('%s', async (_name, sent) => {
    const { url } = await startApi()
    expect((await send(url, { path: '/v1/track', ...sent })).status).toBe(200)
  })

  test('a wrong header is refused despite a valid key in the body', async () => {
    const { url } = await startApi()
    for (const headers of [basic(`${wrong}:`), { 'x-write-key': wrong }]) {
      expect((await send(url, { path: '/v1/t', headers, body: body(writeKey) })).status).toBe(401)
    }
  })
})

describe('defaults from a batch and a connection', () => {
  const userAgent = 'Example/1.0'
  const known = { ...basic(writeKey), 'user-agent': userAgent }

  test('context and integrations of the batch are defaults for each call', async () => {
    const { url, webhooks } = await startApi()
    const batch = [
      { ...ids, type: 'track', context: { locale: 'fr', ip: '203.0.113.9' } },
      { ...ids, type: 'track', integrations: { Webhooks: true } },
      { ...ids, type: 'track', integrations: { All: true }, sentAt: '2026-01-02T03:04:04Z' },
    ].map((call) => ({ ...call, timestamp: '2026-01-02T03:04:00Z' }))
    const context = { locale: 'en', library: { name: 'example' } }
    const document = {
      batch,
      context,
      integrations: { All: false },
      sentAt: '2026-01-02T03:04:05Z',
    }
    await send(url, { headers: known, body: JSON.stringify(document) })
    expect(await webhooks()).toMatchObject([
      { context, timestamp: '2026-01-02T03:04:00.678Z' },
      { context, timestamp: '2026-01-02T03:04:01.678Z' },
    ])
  })

  const filled = { ip: '127.0.0.1', userAgent }
  const origin = 'https://shop.example.com'
  const hidden = { ip: '0.0.0.0', userAgent: 'none' }
  test.each([
    { sender: 'a server', headers: {}, context: {}, stored: {} },
    {
      sender: 'a device that says so',
      headers: {},
      context: { direct: true },
      stored: { direct: true, ...filled },
    },
    { sender: 'a browser', headers: { origin }, context: {}, stored: filled },
    {
      sender: 'a browser that says null',
      headers: { origin },
      context: { ip: null },
      stored: filled,
    },
    {
      sender: 'a browser that hides its user',
      headers: { origin },
      context: hidden,
      stored: hidden,
    },
  ])('give $sender the right address and user agent', async ({ headers, context, stored }) => {
    const { url, webhooks } = await startApi()
    const batch = [{ ...ids, type: 'track', context }]
    await send(url, { headers: { ...known, ...headers }, body: JSON.stringify({ batch }) })
    expect((await webhooks())[0]?.['context']).toEqual(stored)
  })

  test('include the address and user agent on browser paths, even without browser headers', async () => {
    const { url, webhooks } = await startApi()
    for (const path of ['/v1/track', '/v1/t']) {
      await send(url, { path, headers: known, body: JSON.stringify(ids) })
    }
    expect(await webhooks()).toMatchObject([{ context: {} }, { context: filled }])
  })

  test("no header sets the client's address unless proxies are trusted", async () => {
    const forwarded = { 'x-forwarded-for': '203.0.113.1, 203.0.113.2, ::ffff:203.0.113.3' }
    const addresses: unknown[] = []
    for (const trustedProxies of [undefined, 0, 1, 2, 9]) {
      const options = trustedProxies === undefined ? {} : { trustedProxies }
      const { url, webhooks } = await startApi(options)
      await send(url, {
        path: '/v1/t',
        headers: { ...known, ...forwarded },
        body: JSON.stringify(ids),
      })
      addresses.push(((await webhooks())[0]?.['context'] as { ip?: string }).ip)
    }
    expect(addresses).toEqual([
      '127.0.0.1',
      '127.0.0.1',
      '203.0.113.3',
      '203.0.113.2',
      '203.0.113.1',
    ])
  })

  test.each([
    ['203.0.113.7:5555', '203.0.113.7'],
    ['[2001:db8::7]:5555', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['2001:db8::7', '2001:db8::7'],
    ['[::ffff:203.0.113.7]:5555', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
  ])('the address is taken from %s of a trusted proxy', async (written, address) => {
    const { url, webhooks } = await startApi({ trustedProxies: 1 })
    const headers = { ...known, 'x-forwarded-for': written }
    await send(url, { path: '/v1/t', headers, body: JSON.stringify(ids) })
    expect((await webhooks())[0]?.['context']).toEqual({ ip: address, userAgent })
  })

  test('a long user agent is shortened', async () => {
    const { url, webhooks } = await startApi()
    const headers = { ...known, 'user-agent': 'x'.repeat(8_000) }
    await send(url, { path: '/v1/t', headers, body: JSON.stringify(ids) })
    expect(await webhooks()).toMatchObject([{ context: { userAgent: 'x'.repeat(1_024) } }])
  })

  test('a proxy header that is not an address is ignored', async () => {
    const { url, webhooks } = await startApi({ trustedProxies: 1 })
    const headers = { ...known, 'x-forwarded-for': 'unknown' }
    await send(url, { path: '/v1/t', headers, body: JSON.stringify(ids) })
    expect((await webhooks())[0]?.['context']).toEqual({ userAgent })
  })
})

describe('browsers', () => {
  const origin = 'https://shop.example.com'

  test('may send a preflight request', async () => {
    const { url } = await startApi()
    const reply = await send(url, {
      method: 'OPTIONS',
      path: '/v1/t',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,x-retry-count',
      },
    })
    expect([reply.status, reply.json]).toEqual([200, { success: true }])
    expect(reply.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'POST, OPTIONS',
      'access-control-allow-headers': 'authorization,x-retry-count',
      'access-control-max-age': '7200',
      allow: 'POST, OPTIONS',
      vary: 'Origin, Access-Control-Request-Headers',
    })
  })

  test('may read every answer and its Retry-After', async () => {
    const { url } = await startApi()
    for (const path of ['/v1/t', '/nothing', '/v1/m']) {
      const reply = await send(url, { path, headers: { origin }, body: '{}' })
      expect(reply.headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-expose-headers': 'Retry-After, X-RateLimit-Reset',
        vary: 'Origin',
      })
    }
  })

  test('get no CORS headers without an Origin', async () => {
    const { url } = await startApi()
    for (const method of ['OPTIONS', 'POST']) {
      const { headers } = await send(url, { method, body: '{}' })
      const names = Object.keys(headers)
      expect(names.filter((name) => name.startsWith('access-control-'))).toEqual([])
    }
    expect((await send(url, { method: 'OPTIONS', path: '/nothing' })).status).toBe(404)
  })
})

describe('the settings for SDKs', () => {
  test('point clients to this service and disable their metrics', async () => {
    const { url, port } = await startApi()
    const reply = await send(url, { method: 'GET', path: `/v1/projects/${writeKey}/settings` })
    expect(reply.headers['cache-control']).toBe('no-store')
    const service = {
      apiKey: writeKey,
      apiHost: `127.0.0.1:${port}/v1`,
      protocol: 'http',
      addBundledMetadata: true,
    }
    expect(reply.json).toEqual({
      integrations: {
        'Segment.io': service,
        'Customer.io Data Pipelines': service,
        'Hightouch.io': service,
      },
      plan: { track: {}, identify: {}, group: {} },
      edgeFunction: {},
      metrics: { sampleRate: 0 },
    })
  })

  test('contain the host that a trusted proxy reports, and no other', async () => {
    const headers = { 'x-forwarded-host': 'track.example.com', 'x-forwarded-proto': 'https' }
    const sent = { method: 'GET', path: `/projects/${writeKey}/settings/`, headers }
    const trusting = await startApi({ trustedProxies: 1 })
    expect((await send(trusting.url, sent)).json).toMatchObject({
      integrations: { 'Segment.io': { apiHost: 'track.example.com/v1', protocol: 'https' } },
    })
    const { url, port } = await startApi()
    expect((await send(url, sent)).json).toMatchObject({
      integrations: { 'Segment.io': { apiHost: `127.0.0.1:${port}/v1`, protocol: 'http' } },
    })
  })

  test.each([
    ['https', 'https'],
    ['https, http', 'https'],
    ['http', 'http'],
    ['javascript', 'http'],
    ['https:', 'http'],
  ])('behind a proxy that writes %s contain %s', async (written, protocol) => {
    const { url } = await startApi({ trustedProxies: 1 })
    const headers = { 'x-forwarded-proto': written }
    const reply = await send(url, {
      method: 'GET',
      path: `/projects/${writeKey}/settings`,
      headers,
    })
    expect(reply.json).toMatchObject({ integrations: { 'Segment.io': { protocol } } })
  })

  test.each([
    ['wk_unknown', 401],
    [disabledWriteKey, 403],
  ])('for %s are refused with %i', async (key, status) => {
    const { url } = await startApi()
    const reply = await send(url, { method: 'GET', path: `/v1/projects/${key}/settings` })
    expect(reply.status).toBe(status)
  })
})

describe('tracking pixels', () => {
  const gif = /^GIF89a/
  const call = { writeKey, userId: 'user-1', event: 'Email Opened ±?>', properties: { n: 1 } }
  const data = Buffer.from(JSON.stringify(call))

  test.each([
    ['base64url', data.toString('base64url')],
    ['base64', encodeURIComponent(data.toString('base64'))],
    ['base64 that was not escaped', data.toString('base64')],
  ])('carry a call as %s', async (_name, text) => {
    const { url, webhooks } = await startApi()
    const reply = await send(url, { method: 'GET', path: `/v1/pixel/track?data=${text}` })
    expect(reply.headers).toMatchObject({
      'content-type': 'image/gif',
      'cache-control': 'no-store',
    })
    expect([reply.status, reply.bytes.toString('latin1')]).toEqual([
      200,
      expect.stringMatching(gif),
    ])
    expect(await webhooks()).toMatchObject([
      { type: 'track', event: call.event, properties: { n: 1 }, timestamp: now },
    ])
  })

  test('carry a call as parameters', async () => {
    const { url, webhooks } = await startApi()
    const query = [
      `writeKey=${writeKey}`,
      'userId=user-1&event=Email+Opened&context.campaign.name=Spring',
      'properties.subject=Hello%20you&properties.__proto__.x=1&properties.a=1&properties.a.b=2',
    ].join('&')
    await send(url, {
      method: 'GET',
      path: `/pixel/track/?${query}`,
      headers: { 'user-agent': 'Mail/1.0' },
    })
    const [webhook] = await webhooks()
    expect(webhook).toMatchObject({
      userId: 'user-1',
      event: 'Email Opened',
      context: { campaign: { name: 'Spring' }, ip: '127.0.0.1', userAgent: 'Mail/1.0' },
    })
    expect(JSON.stringify(webhook?.['properties'])).toBe(
      '{"subject":"Hello you","__proto__":{"x":"1"},"a":{"b":"2"}}',
    )
  })

  test.each([
    ['integrations.All=false', 0],
    ['integrations.All=False&integrations.Webhooks=true', 1],
    ['integrations.Webhooks=false', 0],
    ['context.integrations.All=false', 0],
    ['integrations.All=no', 1],
    ['properties.All=false', 1],
  ])('with %s reach %i destinations', async (choice, count) => {
    const { url, webhooks } = await startApi()
    const path = `/pixel/track?writeKey=${writeKey}&userId=user-1&event=Ping&${choice}`
    await send(url, { method: 'GET', path })
    const stored = await webhooks()
    expect(stored).toHaveLength(count)
    if (choice.startsWith('properties')) {
      expect(stored).toMatchObject([{ properties: { All: 'false' } }])
    }
  })

  test('carry no call for a HEAD request', async () => {
    const { url, batches } = await startApi()
    const path = `/v1/pixel/track?writeKey=${writeKey}&userId=user-1&event=Ping`
    expect((await send(url, { method: 'HEAD', path })).status).toBe(200)
    expect(batches).toEqual([])
  })

  test.each([
    ['no write key', 'track?userId=u&event=E'],
    ['an unknown write key', 'track?writeKey=wk_unknown&userId=u&event=E'],
    ['data that is not JSON', `track?data=x`],
    ['data that is not an object', `track?data=MQ&writeKey=${writeKey}`],
    ['a type that does not exist', `open?userId=u&writeKey=${writeKey}`],
    ['a type that cannot be decoded', '%E0%A4%A'],
    ['many dots', `track?writeKey=${writeKey}&userId=u&event=E&properties${'.a'.repeat(5_000)}=1`],
  ])('are returned even with %s', async (_name, rest) => {
    const { url, webhooks, refused } = await startApi()
    const reply = await send(url, { method: 'GET', path: `/v1/pixel/${rest}` })
    expect([reply.status, reply.bytes.toString('latin1')]).toEqual([
      200,
      expect.stringMatching(gif),
    ])
    expect(await webhooks()).toEqual([])
    expect(refused).toHaveLength(1)
  })
})
