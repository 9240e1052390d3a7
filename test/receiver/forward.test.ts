import { describe, expect, test } from 'vitest'
import { checkForwardTargets } from '../../src/receiver/forward.ts'
import type { ForwardTarget, ReceiverOptions } from '../../src/receiver/index.ts'
import { createRuntime } from '../../src/runtime/index.ts'
import { makeCertificate } from '../support/certificates.ts'
import { TestEndpoint, type Plan } from '../support/endpoint.ts'
import { freePort, unreachableUrl } from '../support/free-port.ts'
import { gate } from '../support/gate.ts'
import {
  dial,
  nextEvent,
  post,
  rawPost,
  readAll,
  secret,
  signed,
  start,
  trackBody,
  WatchedClock,
} from './requests.ts'

const upgrade = { connection: 'upgrade', upgrade: 'websocket' }

const to = (url: string): readonly ForwardTarget[] => [{ type: null, url }]

/** Starts a receiver that forwards everything to an endpoint. */
async function forwarding(plan: Plan = 200, options: ReceiverOptions = {}) {
  const endpoint = await TestEndpoint.start(plan)
  return { endpoint, ...(await start({ forwardTo: to(endpoint.url), ...options })) }
}

describe('a request that must not be forwarded', () => {
  const page = { origin: 'https://shop.example.com' }
  const rebound = { host: 'shop.example.com', origin: 'http://shop.example.com' }
  const own = (url: string) => ({ origin: new URL(url).origin })

  test.each([
    ['from a web page of a different origin', page, 'foreign_origin'],
    ['from a web page whose name resolves to this machine', rebound, 'foreign_origin'],
    ["through a tunnel, with the tunnel's host name", { host: 'tunnel.example.com' }, null],
    ['from a page, without an Origin', { 'sec-fetch-site': 'same-site' }, 'foreign_origin'],
  ])('%s', async (_, headers, withheld) => {
    const { endpoint, url, receiver } = await forwarding()
    expect(await post(url, trackBody, headers)).toMatchObject({ status: 200 })
    expect(receiver.events).toMatchObject([{ withheld }])
    expect(endpoint.requests).toHaveLength(withheld === null ? 1 : 0)
  })

  test('is one without a valid signature if there is a secret', async () => {
    const { endpoint, url, receiver } = await forwarding(200, { secret })
    await post(url, trackBody)
    await post(url, trackBody, signed(trackBody, 'another-fake-secret'))
    await post(url, trackBody, { ...signed(trackBody), ...own(url) })
    expect(receiver.events.map(({ withheld }) => withheld)).toEqual([
      'signature_not_valid',
      'signature_not_valid',
      null,
    ])
    expect(endpoint.requests).toHaveLength(1)
  })

  test('is forwarded with allowUnverified', async () => {
    const { endpoint, url } = await forwarding(200, { secret, allowUnverified: true })
    await post(url, trackBody, page)
    expect(endpoint.requests).toHaveLength(1)
  })
})

describe('forwarding', () => {
  test('keeps the bytes and all headers except those of the connection', async () => {
    const { endpoint, port } = await forwarding()
    const body = '{"type":"track", "event":"\u00e9",\n"big":12345678901234567890 }'
    const headers = [
      'X-Team: a',
      'x-team: b',
      'X-Latin: caf\u00e9',
      'Keep-Alive: 5',
      'TE: trailers',
    ]
    const socket = await dial(port)
    socket.write(rawPost('/in?x=1', body, headers))
    expect(await readAll(socket)).toContain(' 200 OK')
    const [request] = endpoint.requests
    expect(request!.body.toString('utf8')).toBe(body)
    expect(request!.path).toBe('/hook?x=1')
    const { rawHeaders } = request!
    const pairs = rawHeaders.flatMap((name, at) =>
      at % 2 === 0 ? [[name, rawHeaders[at + 1]]] : [],
    )
    expect(pairs).toEqual(
      expect.arrayContaining([
        ['X-Team', 'a'],
        ['x-team', 'b'],
        ['X-Latin', Buffer.from('caf\u00e9').toString('latin1')],
      ]),
    )
    expect(request!.headers).toMatchObject({ host: new URL(endpoint.url).host })
    expect(request!.headers).not.toHaveProperty('keep-alive')
    expect(request!.headers).not.toHaveProperty('te')
  })

  test('returns the status and Retry-After, and records the answer', async () => {
    const { receiver, url } = await forwarding([
      { status: 201, body: 'all well' },
      {
        status: 503,
        headers: { 'retry-after': '7' },
        body: '\r\n  \u001b[31mNo\u0000 room\u001b[0m\nmore',
      },
      { status: 302, headers: { location: '/elsewhere' } },
    ])
    expect(await post(url, trackBody)).toMatchObject({ status: 201, body: { ok: true } })
    const refused = await post(url, trackBody)
    expect(refused).toMatchObject({
      status: 503,
      headers: { 'retry-after': '7' },
      body: { error: { code: 'forwarded_status' } },
    })
    expect((await post(url, trackBody)).status).toBe(302)
    const base = { durationMs: expect.any(Number) as number, error: null }
    expect(receiver.events.map(({ status, forward }) => [status, forward])).toMatchObject([
      [201, { ...base, status: 201, answer: 'all well' }],
      [
        503,
        {
          ...base,
          status: 503,
          headers: { 'retry-after': '7' },
          answer: expect.stringContaining('No') as string,
        },
      ],
      [302, { ...base, status: 302, answer: '' }],
    ])
  })

  test('appends path and query to a target without a path', async () => {
    const { endpoint, url } = await forwarding()
    const target = new URL(endpoint.url).origin
    const { url: bare } = await start({ forwardTo: to(target) })
    await post(`${bare}/hooks/in?a=1&b=%20`, trackBody)
    await post(`${bare}//evil.example.com/x`, trackBody)
    await post(`${url}/other?c=2`, trackBody)
    expect(endpoint.requests.map(({ path }) => path)).toEqual([
      '/hooks/in?a=1&b=%20',
      '//evil.example.com/x',
      '/hook?c=2',
    ])
  })

  test.each([
    ['3000', 'http://localhost:3000/'],
    ['3000/hook', 'http://localhost:3000/hook'],
    ['localhost:3000/hook', 'http://localhost:3000/hook'],
    ['app.example.com:8080', 'http://app.example.com:8080/'],
    ['https://app.example.com/x', 'https://app.example.com/x'],
  ])('accepts the target %s', (target, url) => {
    expect(checkForwardTargets(to(target))).toEqual(to(url))
  })

  test('replaces headers of the request with configured ones', async () => {
    const forwardHeaders = { 'X-Team': 'growth', Host: 'shop.example.com' }
    const { endpoint, url } = await forwarding(200, { forwardHeaders })
    await post(url, trackBody, { 'x-team': 'other' })
    const [request] = endpoint.requests
    expect(request!.headers).toMatchObject({ 'x-team': 'growth', host: 'shop.example.com' })
    await expect(forwarding(200, { forwardHeaders: { 'Content-Length': '1' } })).rejects.toThrow(
      'Cannot set Content-Length',
    )
  })

  test('forwards only requests that match the filter, and answers the others itself', async () => {
    const { endpoint, url, receiver } = await forwarding(500, { forwardFilter: 'type:track' })
    expect((await post(url, trackBody)).status).toBe(500)
    expect((await post(url, '{"type":"page"}')).status).toBe(200)
    expect(endpoint.bodies).toMatchObject([{ type: 'track' }])
    expect(receiver.events).toMatchObject([{ forward: { status: 500 } }, { forward: null }])
  })

  test('sends a type to its own target, and the others to the target without a type', async () => {
    const [tracks, rest] = [await TestEndpoint.start(), await TestEndpoint.start()]
    const typed: ForwardTarget = { type: 'track', url: tracks.url }
    const both = await start({ forwardTo: [...to(rest.url), typed] })
    await post(both.url, trackBody)
    await post(both.url, '{"type":"page"}')
    expect(tracks.bodies).toMatchObject([{ type: 'track' }])
    expect(rest.bodies).toMatchObject([{ type: 'page' }])
    const one = await start({ forwardTo: [typed] })
    expect((await post(one.url, '{"type":"page"}')).status).toBe(200)
    expect(one.receiver.events).toMatchObject([{ forward: null }])
    expect(tracks.requests).toHaveLength(1)
  })

  test('does not forward refused requests, nor ones with a planned failure', async () => {
    const { endpoint, receiver, url } = await forwarding(200, {
      secret: 'not-a-real-secret',
      strict: true,
      respond: '503,200',
    })
    expect((await post(url, trackBody)).status).toBe(401)
    expect((await post(url, '{', signed('{'))).status).toBe(400)
    expect((await post(url, trackBody, signed(trackBody))).status).toBe(503)
    expect(endpoint.requests).toHaveLength(0)
    expect((await post(`${url}/status/500`, trackBody, signed(trackBody))).status).toBe(500)
    expect(endpoint.requests).toHaveLength(0)
    expect((await post(url, trackBody, signed(trackBody))).status).toBe(200)
    expect(endpoint.requests).toHaveLength(1)
    expect(receiver.events.map(({ forward }) => forward !== null)).toEqual([
      ...[false, false, false, false],
      true,
    ])
  })

  test.each([
    ['does not exist', undefined, 'ECONNREFUSED'],
    ['closes the connection', 'hang-up', 'connection_closed'],
    ['resets it', 'reset', 'ECONNRESET'],
    ['answers with bytes that are not HTTP', 'malformed', 'malformed_answer'],
    ['switches protocols', { status: 101, headers: upgrade }, 'connection_closed'],
  ] as const)('answers 502 when the target %s, and continues', async (_, plan, error) => {
    const url = plan === undefined ? await unreachableUrl() : (await TestEndpoint.start(plan)).url
    const receiving = await start({ forwardTo: to(url) })
    const answers = [await post(receiving.url, trackBody), await post(receiving.url, trackBody)]
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 502, body: { error: { code: 'forward_failed' } } })
      expect(JSON.stringify(answer.body)).toContain(`Cannot forward to the target: ${error}`)
    }
    expect(receiving.receiver.events).toMatchObject([
      { status: 502, forward: { url, status: null, error } },
      { status: 502, forward: { url, status: null, error } },
    ])
  })

  test('reports that a certificate is not trusted', async () => {
    const endpoint = await TestEndpoint.start(200, await makeCertificate())
    const { url } = await start({ forwardTo: to(endpoint.url) })
    expect(JSON.stringify(await post(url, trackBody))).toContain('DEPTH_ZERO_SELF_SIGNED_CERT')
  })

  test('uses the status of an answer whose body is cut off or never ends', async () => {
    const { url } = await forwarding(['cut', 'endless', 200])
    expect((await post(url, trackBody)).status).toBe(200)
    expect((await post(url, trackBody)).status).toBe(200)
    expect((await post(url, trackBody)).status).toBe(200)
  })

  test('opens a new connection each time, because a restarted application leaves dead ones', async () => {
    const { endpoint, url } = await forwarding()
    await post(url, trackBody)
    await post(url, trackBody)
    expect(endpoint.connections).toBe(2)
  })
})

describe('forwarding is refused or ended', () => {
  test('with 508 if receivers forward in a circle', async () => {
    const port = await freePort()
    const second = await start({ forwardTo: to(`http://127.0.0.1:${port}`), forwardTimeoutMs: 0 })
    const first = await start({ forwardTo: to(second.url), forwardTimeoutMs: 0, port })
    const answer = await post(first.url, trackBody, { via: '1.0 example, 1.1 other' })
    expect(answer).toMatchObject({ status: 508, body: { error: { code: 'forwarded_status' } } })
    const { receiver } = first
    expect(receiver.events.map(({ forward }) => forward)).toMatchObject([
      { status: null, error: 'loop' },
      { status: 508, error: null },
    ])
    expect(second.receiver.counts.received).toBe(1)
    expect(receiver.events[0]!.headers['via']).toMatch(
      /^1\.0 example, 1\.1 other, 1\.1 evroute-\S+, 1\.1 evroute-\S+$/,
    )
  })

  test.each(['127.0.0.1', 'localhost'])('when the target is its own port on %s', async (host) => {
    const port = await freePort()
    const own = { forwardTo: to(`http://${host}:${port}/hook`), port }
    await expect(start(own)).rejects.toThrow('the receiver itself listens there')
    await start({ port })
  })

  test('with 503 when 100 requests without a time limit are waiting', async () => {
    const answered = gate()
    const plan = { status: 200, after: answered.opened }
    const { endpoint, url } = await forwarding(plan, { forwardTimeoutMs: 0 })
    const waiting = Array.from({ length: 100 }, () => post(url, trackBody))
    await endpoint.received(100)
    expect(await post(url, trackBody)).toMatchObject({
      status: 503,
      body: { error: { message: expect.stringContaining('too_many_under_way') as string } },
    })
    answered.open()
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(Array(100).fill(200))
    expect((await post(url, trackBody)).status).toBe(200)
  })

  test('when the sender disconnects during the delay', async () => {
    const clock = new WatchedClock(0)
    const runtime = createRuntime({ clock })
    const { endpoint, receiver, port } = await forwarding(200, { runtime, delayMs: 3_000 })
    const delayed = clock.scheduled(3_000)
    const event = nextEvent(receiver)
    const socket = await dial(port)
    socket.write(rawPost('/', trackBody))
    await delayed
    socket.destroy()
    expect(await event).toMatchObject({ forward: null })
    expect(endpoint.requests).toHaveLength(0)
  })
})

describe('forwarding again', () => {
  test('sends the bytes and headers of an event to the target of its type', async () => {
    const { endpoint, receiver, url } = await forwarding([200, 410])
    await post(url, trackBody, { 'X-Team': 'a' })
    const [event] = receiver.events
    expect(await receiver.forward(event!)).toMatchObject({ url: endpoint.url, status: 410 })
    const [first, second] = endpoint.requests
    expect(second!.body).toEqual(first!.body)
    expect(second!.headers).toEqual(first!.headers)
    expect(receiver.counts.received).toBe(1)
  })

  test('sends nothing if no target accepts the event', async () => {
    const { receiver, url } = await start()
    await post(url, trackBody)
    expect(await receiver.forward(receiver.events[0]!)).toBeUndefined()
  })
})

describe('the forward timeout', () => {
  async function timed(plan: Plan, options: ReceiverOptions = {}) {
    const clock = new WatchedClock(0)
    return { clock, ...(await forwarding(plan, { runtime: createRuntime({ clock }), ...options })) }
  }

  test('is 5 s by default, and fails as a timeout', async () => {
    const { clock, endpoint, receiver, url } = await timed('hang')
    const answer = post(url, trackBody)
    await endpoint.received(1)
    await clock.advance(5_000)
    expect(await answer).toMatchObject({ status: 504, body: { error: { code: 'forward_failed' } } })
    expect(receiver.events).toMatchObject([
      { status: 504, forward: { status: null, error: 'timeout', durationMs: 5_000 } },
    ])
  })

  test('is unlimited with 0', async () => {
    const answered = gate()
    const plan = { status: 200, after: answered.opened }
    const { clock, endpoint, receiver, url } = await timed(plan, { forwardTimeoutMs: 0 })
    const answer = post(url, trackBody)
    await endpoint.received(1)
    await clock.advance(60 * 60 * 1_000)
    answered.open()
    expect((await answer).status).toBe(200)
    expect(receiver.events).toMatchObject([{ forward: { status: 200, durationMs: 3_600_000 } }])
  })

  test('is 5 s for the body after the status has arrived, also with 0', async () => {
    const { clock, url } = await timed('drip', { forwardTimeoutMs: 0 })
    const scheduled = clock.scheduled(5_000)
    const answer = post(url, trackBody)
    await scheduled
    await clock.advance(5_000)
    expect((await answer).status).toBe(200)
  })

  test('ends when the receiver closes', async () => {
    const { endpoint, receiver, url } = await timed('hang', { forwardTimeoutMs: 0 })
    const answer = post(url, trackBody)
    await endpoint.received(1)
    await receiver.close()
    expect((await answer).status).toBe(502)
    expect(receiver.events).toMatchObject([{ forward: { error: 'interrupted' } }])
  })
})

describe('a forward target', () => {
  const url = 'http://127.0.0.1:3000/hook'

  test.each([
    [to('app.example.com'), 'not a full http or https URL'],
    [to('http://user:pw@127.0.0.1/'), 'contains a user name or password'],
    [[...to(url), ...to(url)], 'Cannot forward the same webhooks to two URLs'],
    [
      [
        { type: 'track', url },
        { type: 'track', url },
      ],
      'Cannot forward track to two URLs',
    ],
  ] as const)('is refused: %j', async (forwardTo, message) => {
    await expect(start({ forwardTo })).rejects.toThrow(message)
  })

  test.each([-1, 0.5, 3_600_001])('refuses a timeout of %d ms', async (forwardTimeoutMs) => {
    await expect(start({ forwardTimeoutMs })).rejects.toThrow('forwardTimeoutMs')
  })
})
