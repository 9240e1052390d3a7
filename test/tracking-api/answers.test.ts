import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/runtime/index.ts'
import { accepted, bad, known, refusal, refused, track } from './situations.ts'
import { basic, disabledWriteKey, send, slowWriteKey, startApi, writeKey } from './support.ts'

describe.each([
  ['accepts', accepted],
  ['finds the mistake of', bad],
  ['refuses', refused],
])('%s', (_verb, situations) => {
  test.each(situations)('$name: $status', async (situation) => {
    const { headers = known, document, options, status, answer, answerHeaders = {} } = situation
    const { url } = await startApi(options)
    const body = document === undefined ? {} : { body: JSON.stringify(document) }
    const reply = await send(url, { ...situation, ...body, headers })
    expect(reply.json).toEqual(answer)
    const { date, connection, 'keep-alive': keepAlive, ...others } = reply.headers
    expect([reply.status, others]).toEqual([
      status,
      {
        'content-type': 'application/json',
        'content-length': String(reply.bytes.length),
        vary: 'Origin',
        ...answerHeaders,
      },
    ])
    expect([typeof date, connection, keepAlive]).toEqual(['string', 'keep-alive', 'timeout=75'])
  })
})

test('HEAD has the headers of its answer and no body', async () => {
  const { url } = await startApi()
  for (const [path, status] of [
    [`/v1/projects/${writeKey}/settings`, 200],
    ['/v1/pixel/track', 200],
    ['/v1/batch', 405],
    ['/v1', 404],
  ] as const) {
    const reply = await send(url, { method: 'HEAD', path })
    expect([reply.status, reply.bytes.length]).toEqual([status, 0])
    expect(Number(reply.headers['content-length'])).toBeGreaterThan(0)
  }
})

test('a source over its rate is told when to retry', async () => {
  const clock = new ManualClock(0)
  const { url, webhooks, refused: refusals } = await startApi({ clock })
  const sendCalls = (count: number) => {
    const batch = Array.from({ length: count }, () => ({ ...track, messageId: undefined }))
    return send(url, { headers: basic(slowWriteKey), body: JSON.stringify({ batch }) })
  }
  expect((await sendCalls(7)).status).toBe(200)
  const reply = await sendCalls(1)
  expect([reply.status, reply.headers['retry-after']]).toEqual([429, '3'])
  expect(reply.json).toEqual(refusal('rate_limited', 'The source exceeds its rate limit'))
  expect(refusals).toEqual([{ sourceId: 'slow', code: 'rate_limited' }])
  await clock.advance(2_500)
  expect((await sendCalls(1)).status).toBe(429)
  await clock.advance(1)
  expect((await sendCalls(1)).status).toBe(200)
  expect(await webhooks()).toHaveLength(8)
})

test('calls that the store refuses do not count towards the rate', async () => {
  let isDown = true
  const { url, counted, stored } = await startApi({
    accept: (given, intake) =>
      isDown ? Promise.reject(new Error('disk full')) : intake.accept(given),
  })
  const batch = Array.from({ length: 20 }, () => ({ ...track, messageId: undefined }))
  const post = () => send(url, { headers: basic(slowWriteKey), body: JSON.stringify({ batch }) })
  const statuses: number[] = []
  for (let round = 0; round < 3; round++) statuses.push((await post()).status)
  isDown = false
  statuses.push((await post()).status)
  expect(statuses).toEqual([503, 503, 503, 200])
  expect(counted).toEqual([{ sourceId: 'slow', outcome: 'routed', count: 20 }])
  expect(stored).toEqual(['slow'])
  expect((await post()).status).toBe(429)
})

test('a source that retries exactly when it was told to is accepted', async () => {
  const clock = new ManualClock(0)
  const { url } = await startApi({ clock })
  const post = (count: number) => {
    const batch = Array.from({ length: count }, () => ({ ...track, messageId: undefined }))
    return send(url, { headers: basic(slowWriteKey), body: JSON.stringify({ batch }) })
  }
  await post(6)
  const retryAfter = (await post(1)).headers['retry-after']
  await clock.advance(Number(retryAfter) * 1_000)
  expect((await post(1)).status).toBe(200)
})

test('of requests read in one turn, only those for which the store has room are accepted', async () => {
  let waiting = 0
  const { url, batches } = await startApi({
    isFull: () => waiting >= 2,
    accept: (given, intake) => {
      waiting++
      return intake.accept(given)
    },
  })
  const body = gzipSync(JSON.stringify({ batch: [track] }))
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => send(url, { headers: known, body })),
  )
  const statuses = replies.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(2)
  expect(statuses.filter((status) => status === 429)).toHaveLength(6)
  expect(batches).toHaveLength(2)
})

test('nothing of a refused request is stored', async () => {
  const { url, webhooks } = await startApi()
  for (const { name, document, headers = known, ...sent } of [...bad, ...refused]) {
    if ('options' in sent) continue
    const body = document === undefined ? {} : { body: JSON.stringify(document) }
    expect((await send(url, { ...sent, ...body, headers })).status, name).toBeGreaterThanOrEqual(
      400,
    )
  }
  expect(await webhooks()).toEqual([])
})

test('the observer is notified of the outcome of calls and requests', async () => {
  const { url, counted, rejected, refused: refusals } = await startApi()
  const post = (document: unknown, headers = known) =>
    send(url, { headers, body: JSON.stringify(document) })
  await post({ batch: [track, track, { ...track, integrations: { All: false } }, 1, 2, {}] })
  const messageId = 'm_odd'
  await post({ batch: [{ ...track, messageId, type: 'tracks' }, ...Array<number>(30).fill(3)] })
  await post({ batch: 'none' })
  await post({ batch: [] }, basic('wk_unknown'))
  await post({ batch: [] }, basic(disabledWriteKey))
  await send(url, { path: '/' })
  expect(counted).toEqual(
    expect.arrayContaining([
      { sourceId: 'website', outcome: 'routed', count: 1 },
      { sourceId: 'website', outcome: 'duplicate', count: 2 },
      { sourceId: 'website', outcome: 'not_an_object', count: 2 },
      { sourceId: 'website', outcome: 'unknown_type', count: 1 },
      { sourceId: 'website', outcome: 'not_an_object', count: 30 },
    ]),
  )
  expect(rejected.slice(0, 4)).toMatchObject([
    { sourceId: 'website', messageId: null, code: 'not_an_object' },
    { sourceId: 'website', messageId: null, code: 'not_an_object' },
    { sourceId: 'website', code: 'unknown_type' },
    { sourceId: 'website', messageId, code: 'unknown_type' },
  ])
  // The observer gets only the first 20 rejected calls of a request.
  expect(rejected).toHaveLength(3 + 20)
  expect(refusals).toEqual([
    { sourceId: 'website', code: 'nothing_valid' },
    { sourceId: 'website', code: 'invalid_batch' },
    { sourceId: null, code: 'unknown_write_key' },
    { sourceId: 'old', code: 'source_disabled' },
    { sourceId: null, code: 'not_found' },
  ])
})

test('neither write keys nor payloads are logged', async () => {
  const { url, logged } = await startApi({
    accept: () => Promise.reject(new Error('disk full')),
    sourceOf: (key) => {
      if (key === 'wk_broken') throw new Error('no directory')
      return { id: 'website', enabled: true }
    },
  })
  const body = JSON.stringify({ batch: [track], writeKey })
  expect((await send(url, { body })).status).toBe(503)
  expect((await send(url, { body, headers: basic('wk_broken') })).json).toEqual(
    refusal('store_unavailable', 'The request could not be handled; nothing was stored'),
  )
  expect(logged).toEqual([
    'warn events could not be stored sourceId=website error="disk full"\n',
    'warn a request could not be handled error="no directory"\n',
  ])
})
