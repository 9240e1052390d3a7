import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { makeCertificate } from '../../support/certificates.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { post, secret, signed, start, trackBody } from '../requests.ts'
import { act } from './act.ts'

describe('the details on the page', () => {
  const read = async (url: string, path: string): Promise<unknown> =>
    (await request(`${url}/_evroute/${path}`)).body.json()

  test('show the changes since the previous event of the same user, type and name', async () => {
    const { url } = await start()
    const track = (fields: object) =>
      post(url, JSON.stringify({ type: 'track', userId: 'u_1', event: 'Ping', ...fields }))
    await track({ messageId: 'm-1', properties: { total: 1, items: ['a', 'b'], gone: true } })
    await track({ event: 'Other', properties: {} })
    await track({ userId: 'u_2', properties: {} })
    await track({ messageId: 'm-2', properties: { total: 2, items: ['a', 'c'], new: null } })
    expect(await read(url, 'changes?seq=4')).toEqual({
      previous: 1,
      changes: [
        { path: 'properties.total', before: '1', after: '2' },
        { path: 'properties.items.1', before: '"b"', after: '"c"' },
        { path: 'properties.gone', before: 'true', after: null },
        { path: 'properties.new', before: null, after: 'null' },
      ],
      more: 0,
    })
    expect(await read(url, 'changes?seq=1')).toEqual({ previous: null, changes: [], more: 0 })
    expect(await read(url, 'changes?seq=4&with=1')).toMatchObject({ previous: 1 })
    expect((await request(`${url}/_evroute/changes?seq=4&with=9`)).statusCode).toBe(404)
    expect((await request(`${url}/_evroute/changes?seq=9`)).statusCode).toBe(404)
  })

  test('show at most a hundred changes, and shorten long values', async () => {
    const { url } = await start()
    const group = (traits: object) =>
      post(url, JSON.stringify({ type: 'group', userId: 'u', groupId: 'g', traits }))
    await group({})
    await group(
      Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`k${i}`, 'x'.repeat(999)])),
    )
    const { changes, more } = (await read(url, 'changes?seq=2')) as {
      changes: { after: string }[]
      more: number
    }
    expect([changes.length, more]).toEqual([100, 50])
    expect(changes[0]!.after.length).toBe(200)
  })

  test('offer an expectation of an event like the received one', async () => {
    const { url } = await start()
    await post(url, trackBody.replace('Ping', 'Order \\"Paid\\"*'))
    const { text } = (await read(url, 'expectation?seq=1')) as { text: string }
    expect(await act(url, 'expect', { expect: text })).toMatchObject({ status: 200 })
    await post(url, trackBody.replace('Ping', 'Order \\"Paid\\" twice'))
    await post(url, trackBody.replace('Ping', 'Order \\"Paid\\"*'))
    expect(await read(url, 'expectations')).toEqual({
      expectations: [{ id: 1, text, state: 'met', account: 'expected at least 1, got 1' }],
    })
  })

  test('offer the condition that a value of a payload meets', async () => {
    const { url } = await start()
    const condition = async (keys: unknown, value: unknown): Promise<unknown> => {
      const query = { keys: JSON.stringify(keys), value: JSON.stringify(value) }
      return (await request(`${url}/_evroute/condition`, { query })).body.json()
    }
    expect(await condition(['properties', 'a b', '0'], 'x*')).toEqual({
      text: 'properties."a b".0:"x\\*"',
    })
    expect(await condition(['total'], 39.95)).toEqual({ text: 'body.total:39.95' })
    expect(await condition(['traits', 'vip'], null)).toEqual({ text: 'traits.vip:null' })
    expect(await condition(['context'], { ip: 1 })).toEqual({ text: 'has:context' })
    expect(await condition(['body'], 'x'.repeat(201))).toEqual({ text: 'has:body.body' })
    expect(await condition({}, 1)).toMatchObject({ error: { code: 'invalid_setting' } })
  })

  test('offer samples that the receiver accepts, and handlers in eight languages', async () => {
    const { url } = await start({ secret })
    const { samples } = (await read(url, 'samples')) as { samples: Record<string, string> }
    expect(Object.keys(samples)).toEqual([
      'identify',
      'track',
      'page',
      'screen',
      'group',
      'alias',
      'delete',
    ])
    for (const body of Object.values(samples)) {
      const sent = await act(url, 'send', { request: { path: '/hook', body } })
      expect(sent).toMatchObject({ body: { status: 200 } })
    }
    const { snippets } = (await read(url, 'snippets')) as { snippets: Record<string, string> }
    expect(Object.keys(snippets)).toHaveLength(8)
  })
})

describe('POST /_evroute/actions', () => {
  test('sends a new request: text is signed, bytes are sent unchanged', async () => {
    const { url, receiver } = await start({ secret })
    await act(url, 'send', {
      request: { path: '/a?b=1', headers: { 'x-team': 'a' }, body: trackBody },
    })
    const rawBase64 = Buffer.from(trackBody).toString('base64')
    const headers = { 'x-signature': '0'.repeat(40) }
    await act(url, 'send', { request: { headers, rawBase64 } })
    expect(receiver.events).toMatchObject([
      { path: '/a?b=1', signature: 'valid', headers: { 'x-team': 'a' } },
      { path: '/', signature: 'invalid' },
    ])
    expect(await act(url, 'send', { request: { body: 'a', rawBase64 } })).toMatchObject({
      status: 400,
    })
    expect(await act(url, 'send', {})).toMatchObject({ status: 400 })
  })

  test('signs the bytes of a new request if it is told to, and sends it to the given endpoint', async () => {
    const { url, receiver } = await start({ secret, endpoints: 2 })
    const rawBase64 = Buffer.from([0xff, 0x00]).toString('base64')
    const request = { rawBase64, sign: true, headers: { 'x-signature': '0'.repeat(40) } }
    expect(await act(url, 'send', { request, endpoint: 2 })).toMatchObject({
      body: { seq: 1, signature: 'valid' },
    })
    expect(receiver.events).toMatchObject([{ endpoint: 2, rawBody: Buffer.from([0xff, 0x00]) }])
    expect(await act(url, 'send', { request, endpoint: 'b' })).toMatchObject({ status: 400 })
  })

  test('says that a request or an expectation is not kept', async () => {
    const { url } = await start()
    const missing = (message: string) => ({
      status: 404,
      body: { error: { code: 'not_found', message } },
    })
    const request = missing('The receiver no longer has this request')
    expect(await act(url, 'resend', { seq: 7 })).toMatchObject(request)
    expect(await act(url, 'resend', {})).toMatchObject(request)
    const expectation = missing('There is no expectation with this id')
    expect(await act(url, 'forget', { id: 7 })).toMatchObject(expectation)
  })

  test('says that a server did not answer in time', async () => {
    const { url, receiver } = await start()
    const endpoint = await TestEndpoint.start('hang')
    const sent = act(url, 'send', { request: { url: endpoint.url, body: trackBody } })
    await endpoint.received(1)
    await receiver.close()
    expect(await sent).toMatchObject({ body: { status: null, error: 'no answer in time' } })
  })

  test('sends a signed request to a different server, with the path of the URL', async () => {
    const { url } = await start({ secret })
    const other = await start({ secret })
    const target = `${other.url}/hook?a=1`
    const answered = { status: 200, error: null, seq: null, signature: null }
    const sent = await act(url, 'send', { request: { url: target, body: trackBody } })
    expect(sent).toMatchObject({ status: 200, body: answered })
    await post(url, trackBody)
    const resent = await act(url, 'resend', { seq: 1, edit: { url: target } })
    expect(resent).toMatchObject({ status: 200, body: answered })
    const arrived = { path: '/hook?a=1', signature: 'valid' }
    expect(other.receiver.events).toMatchObject([arrived, arrived])
  })

  test.each([
    { url: 'file:///etc/passwd' },
    { url: 'http://user:word@127.0.0.1/' },
    { url: '/hook' },
    { url: 7 },
    { url: 'http://127.0.0.1:1/', path: '/' },
  ])('does not send to %j', async (edit) => {
    const { url, receiver } = await start()
    await post(url, trackBody)
    expect(await act(url, 'resend', { seq: 1, edit })).toMatchObject({
      status: 400,
      body: { error: { hint: expect.stringContaining('http://') as string } },
    })
    expect(receiver.events).toHaveLength(1)
  })

  test('does not trust an unknown certificate of a different server', async () => {
    const { url } = await start()
    const endpoint = await TestEndpoint.start(200, await makeCertificate())
    const sent = await act(url, 'send', { request: { url: endpoint.url, body: trackBody } })
    expect(sent).toMatchObject({ body: { status: null, error: expect.any(String) as string } })
    expect(endpoint.requests).toHaveLength(0)
  })

  test('sets the plan of answers, and reports its progress', async () => {
    const { url } = await start()
    const planned = async (): Promise<unknown> =>
      (await request(`${url}/_evroute/plan`)).body.json()
    expect(await planned()).toEqual({ next: [], plans: [] })
    await act(url, 'plan', { plan: '503x2, 200' })
    await act(url, 'next-answer', { answer: 'reset' })
    expect(await planned()).toEqual({ next: ['reset'], plans: [{ plan: '503x2,200', given: 0 }] })
    await expect(post(url, trackBody)).rejects.toThrow()
    expect(await post(url, trackBody)).toMatchObject({ status: 503 })
    expect(await planned()).toEqual({ next: [], plans: [{ plan: '503x2,200', given: 1 }] })
    expect(await act(url, 'plan', { plan: '503x2,boom' })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('character 7') as string } },
    })
    expect(await act(url, 'plan', { plan: ['type=track:500', '200'] })).toMatchObject({
      body: { plans: [{ plan: 'type=track:500' }, { plan: '200' }] },
    })
  })

  test('adds an expectation from now on, lists it, and forgets it', async () => {
    const { url, receiver } = await start()
    const expectations = async (): Promise<unknown> =>
      (await request(`${url}/_evroute/expectations`)).body.json()
    await post(url, trackBody)
    const waiting = receiver.judge('type:page', { timeoutMs: Infinity })
    expect(await act(url, 'expect', { expect: 'type:track never' })).toMatchObject({
      body: { id: 2 },
    })
    expect(await expectations()).toMatchObject({
      expectations: [
        { id: 1, text: 'type:page', state: 'open', account: 'expected at least 1, got 0' },
        { id: 2, text: 'type:track never', state: 'open', account: 'expected none, got 0' },
      ],
    })
    await post(url, trackBody)
    expect(await expectations()).toMatchObject({
      expectations: [{ state: 'open' }, { state: 'unmet' }],
    })
    expect(await act(url, 'forget', { id: 2 })).toMatchObject({ status: 200 })
    expect(await act(url, 'forget', { id: 2 })).toMatchObject({ status: 404 })
    expect(await expectations()).toMatchObject({ expectations: [{ id: 1 }] })
    expect(await act(url, 'expect', { expect: 'type:trak' })).toMatchObject({ status: 400 })
    await receiver.close()
    expect((await waiting).result.state).toBe('unmet')
  })

  test('accepts 100 open expectations at most', async () => {
    const { url } = await start()
    const expectMore = () => act(url, 'expect', { expect: 'type:track' })
    for (let count = 0; count < 100; count += 1)
      expect(await expectMore()).toMatchObject({ status: 200 })
    expect(await expectMore()).toMatchObject({ status: 400 })
    await act(url, 'forget', { id: 1 })
    expect(await expectMore()).toMatchObject({ status: 200 })
  })

  test('reads a capture, renumbers its requests, and stores nothing of it', async () => {
    const { url, receiver } = await start({ secret })
    await post(`${url}/a`, trackBody, signed(trackBody))
    await post(`${url}/b`, '{')
    const capture = await (await request(`${url}/_evroute/events`)).body.text()
    const read = async (body: string, type = 'application/x-ndjson', query = '') => {
      const headers = { 'content-type': type }
      const answer = await request(`${url}/_evroute/actions/read-capture${query}`, {
        method: 'POST',
        body,
        headers,
      })
      const text = await answer.body.text()
      return text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown)
    }
    const ready = '{"v":1,"kind":"ready"}\n'
    expect(await read(`${ready}${capture}no json\n${capture}`)).toMatchObject([
      { summary: { seq: 1, type: 'track' }, record: { seq: 1, path: '/a' } },
      { summary: { seq: 2, code: 'invalid_json' }, record: { path: '/b' } },
      { summary: { seq: 3 } },
      { summary: { seq: 4 } },
      { read: 4, shown: 4, badRows: 1 },
    ])
    expect(await read('')).toEqual([{ v: 1, read: 0, shown: 0, badRows: 0 }])
    expect(await read(capture, undefined, '?match=path:/b')).toMatchObject([
      { summary: { seq: 2 } },
      { read: 2 },
    ])
    expect(await read(capture, 'text/plain')).toMatchObject([
      { error: { code: 'invalid_setting' } },
    ])
    expect(receiver.counts.received).toBe(2)
  })

  test('sends a recorded request again unchanged', async () => {
    const { url, receiver } = await start({ secret, strict: true })
    await post(`${url}/hook?a=1`, trackBody, { ...signed(trackBody), 'x-shop': 'example' })
    expect(await act(url, 'resend', { seq: 1 })).toMatchObject({
      body: { status: 200, seq: 2, signature: 'valid' },
    })
    const [first, second] = receiver.events
    expect(second).toMatchObject({ path: '/hook?a=1', rawBody: first!.rawBody, signature: 'valid' })
    expect(second!.headers['x-shop']).toBe('example')
  })

  test('signs an edited request again', async () => {
    const { url, receiver } = await start({ secret })
    await post(url, trackBody, { 'x-signature': '0'.repeat(40) })
    const edit = { path: '/other', body: trackBody.replace('Ping', 'Pong') }
    expect(await act(url, 'resend', { seq: 1, edit })).toMatchObject({ body: { status: 200 } })
    expect(receiver.events[1]).toMatchObject({
      path: '/other',
      signature: 'valid',
      body: { event: 'Pong' },
    })
  })

  test('sets the next answer', async () => {
    const { url } = await start()
    expect(await act(url, 'next-answer', { answer: 503 })).toMatchObject({ status: 200 })
    expect(await post(url, trackBody)).toMatchObject({ status: 503 })
    expect(await post(url, trackBody)).toMatchObject({ status: 200 })
    expect(await act(url, 'next-answer', { answer: 'boom' })).toMatchObject({ status: 400 })
    const delayed = { answer: 429, delay: '1ms' }
    expect(await act(url, 'next-answer', delayed)).toMatchObject({ status: 200 })
    expect((await act(url, 'plan', { plan: '200' })).body).toMatchObject({
      next: ['429 after 1ms'],
    })
    expect(await act(url, 'next-answer', { answer: null })).toMatchObject({ status: 200 })
    expect(await post(url, trackBody)).toMatchObject({ status: 200 })
    expect(await act(url, 'next-answer', { answer: 429, delay: '2h' })).toMatchObject({
      status: 400,
    })
  })

  test('refuses pages of other origins, unknown names, and forms', async () => {
    const { url, receiver } = await start()
    await post(url, trackBody)
    const resend = (headers: Readonly<Record<string, string>>) =>
      post(`${url}/_evroute/actions/resend`, '{"seq":1}', {
        'content-type': 'application/json',
        ...headers,
      })
    expect(await resend({ origin: 'https://example.com' })).toMatchObject({ status: 403 })
    expect(await resend({ host: 'rebound.example.com' })).toMatchObject({ status: 403 })
    expect(await resend({ 'content-type': 'text/plain' })).toMatchObject({ status: 400 })
    expect(receiver.counts.received).toBe(1)
  })

  test.each([
    ['resend', { seq: 1 }],
    ['send', { request: { body: trackBody } }],
    ['next-answer', { answer: 503 }],
    ['plan', { plan: '503' }],
    ['expect', { expect: 'type:track' }],
    ['forget', { id: 1 }],
    ['read-capture', {}],
  ])('%s is accepted from its own page only', async (name, body) => {
    const { url, port, receiver } = await start()
    await post(url, trackBody)
    const from = (headers: Readonly<Record<string, string>>) =>
      post(`${url}/_evroute/actions/${name}`, JSON.stringify(body), {
        'content-type': name === 'read-capture' ? 'application/x-ndjson' : 'application/json',
        ...headers,
      })
    for (const origin of ['https://example.com', 'null', `http://127.0.0.1:${port + 1}`]) {
      expect(await from({ origin })).toMatchObject({ status: 403 })
    }
    const rebound = { host: 'rebound.example.com', origin: 'http://rebound.example.com' }
    expect(await from(rebound)).toMatchObject({ status: 403 })
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      expect(await from({ 'content-type': type })).toMatchObject({ status: 400 })
    }
    const getJson = async (path: string) => (await request(`${url}/_evroute/${path}`)).body.json()
    expect(await getJson('plan')).toEqual({ next: [], plans: [] })
    expect(await getJson('expectations')).toEqual({ expectations: [] })
    expect(receiver.counts.received).toBe(1)
  })
})
