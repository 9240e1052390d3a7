import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { MatchError } from '../../src/match/index.ts'
import { SettingError } from '../../src/model/index.ts'
import { EventLog } from '../../src/receiver/event-log.ts'
import { ExpectationError, type ReceivedEvent } from '../../src/receiver/index.ts'
import { Expectations } from '../../src/receiver/expectations.ts'
import type { UnnumberedEvent } from '../../src/receiver/received-event.ts'
import { Waits } from '../../src/receiver/waits.ts'
import { createRuntime, silentLog } from '../../src/runtime/index.ts'
import { post, start, trackBody, WatchedClock } from './requests.ts'

const orderBody = JSON.stringify({
  type: 'track',
  userId: 'u_1',
  event: 'Order Completed',
  properties: { revenue: 12 },
})

/** The error that an expectation rejects with. */
async function errorOf(waiting: Promise<unknown>): Promise<ExpectationError> {
  const error: unknown = await waiting.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof ExpectationError) return error
  throw new Error('It was met, or something else went wrong', { cause: error })
}

function seqs(events: readonly ReceivedEvent[]): readonly number[] {
  return events.map(({ seq }) => seq)
}

/** Starts a receiver whose clock moves only when the test advances it. */
async function startStill() {
  const clock = new WatchedClock(0)
  return { clock, ...(await start({ runtime: createRuntime({ clock }) })) }
}

describe('an expectation', () => {
  test('is met by earlier events, in the order of arrival', async () => {
    const { receiver, url } = await startStill()
    for (const body of [trackBody, orderBody, orderBody]) await post(url, body)
    const [order, ...others] = await receiver.expect('type:track event:"Order*"')
    expect(order).toMatchObject({ seq: 2, type: 'track' })
    expect(others).toEqual([])
    expect(seqs(await receiver.expect('event:"Order*"', { after: 2 }))).toEqual([3])
    expect(seqs(await receiver.expect('type:track x2..'))).toEqual([1, 2])
  })

  test('is met by a new event before its sender is answered', async () => {
    const { receiver, url } = await startStill()
    await post(url, trackBody)
    const waiting = receiver.expect({ type: 'track', event: 'Order Completed' })
    const steps: string[] = []
    const posting = post(url, orderBody).then(() => steps.push('answered'))
    expect(await waiting).toMatchObject([{ seq: 2, body: { properties: { revenue: 12 } } }])
    expect(steps).toEqual([])
    await posting
  })

  test('with an upper bound waits for its timeout: 5 s by default, or the one given', async () => {
    const { clock, receiver, url } = await startStill()
    await post(url, trackBody)
    const results: string[] = []
    const never = receiver.expect('type:page never').then(() => results.push('never'))
    const within = receiver.expect('type:track x1 within 9s').then(() => results.push('within'))
    const timed = receiver
      .expect('type:track x1 within 9s', { timeoutMs: 2_000 })
      .then(() => results.push('timed'))
    await clock.advance(1_999)
    expect(results).toEqual([])
    await clock.advance(1)
    expect(results).toEqual(['timed'])
    await clock.advance(3_000)
    expect(results).toEqual(['timed', 'never'])
    await clock.advance(3_999)
    expect(results).toHaveLength(2)
    await clock.advance(1)
    expect(results).toEqual(['timed', 'never', 'within'])
    await Promise.all([never, within, timed])
  })

  test('is unmet before the 5 s that vitest and jest give a test, and shows the nearest event side by side', async () => {
    const { clock, receiver, url } = await startStill()
    await post(url, orderBody)
    const waiting = errorOf(receiver.expect('type:track properties.revenue:>20'))
    await clock.advance(4_000)
    const error = await waiting
    expect(error).toMatchObject({ name: 'ExpectationError', code: 'expectation_unmet' })
    expect(error.message).toBe(
      [
        'type:track properties.revenue:>20: expected at least 1, got 0',
        'The nearest request is #1:',
        '                      expected  received',
        '  type                track     track',
        '! properties.revenue  >20       12',
      ].join('\n'),
    )
    expect(error.result).toMatchObject({ matched: 0, shortfall: { nearest: { seq: 1 } } })
  })

  test('is unmet as soon as there are too many events', async () => {
    const { receiver, url } = await startStill()
    const waiting = errorOf(receiver.expect('type:track x1', { timeoutMs: Infinity }))
    const none = errorOf(receiver.expect({ type: 'track' }, { count: 0 }))
    for (const body of [trackBody, orderBody]) await post(url, body)
    expect((await waiting).message).toBe(
      'type:track x1: expected exactly 1, got 2\n#2 is one too many',
    )
    const some = await receiver.judge({ type: 'track' }, { count: { atLeast: 2 } })
    expect(some.result).toMatchObject({ account: 'expected at least 2, got 2' })
    expect((await none).result).toMatchObject({ matched: 1, shortfall: { surplus: { seq: 1 } } })
  })

  test('with "within" starts its time when the wait begins, and is decided when it ends', async () => {
    const { clock, receiver, url } = await startStill()
    await clock.advance(60_000)
    const waiting = errorOf(receiver.expect('type:track within 2s', { timeoutMs: Infinity }))
    const never = receiver.expect('type:page never within 2s', { timeoutMs: 9_000 })
    await clock.advance(2_000)
    await post(url, trackBody)
    expect((await waiting).result).toMatchObject({ matched: 0 })
    expect(await never).toEqual([])
  })

  test('is judged as it stands when the receiver closes or its signal aborts', async () => {
    const { receiver, url } = await startStill()
    await post(url, trackBody)
    const early = new AbortController()
    const stopped = errorOf(receiver.expect('type:page', { signal: early.signal }))
    early.abort()
    expect((await stopped).result.account).toBe('expected at least 1, got 0')
    const exact = receiver.expect('type:track x1', { timeoutMs: Infinity })
    const missing = errorOf(receiver.expect('type:page'))
    await receiver.close()
    expect(seqs(await exact)).toEqual([1])
    expect((await missing).result.matched).toBe(0)
    await receiver.expect({ type: 'page' }, { count: 0 })
    await receiver.expect({ type: 'page' }, { count: 0, signal: early.signal })
  })

  test('counts a request that arrived in time and is still being read at the end', async () => {
    const { clock, receiver, url } = await startStill()
    const results: string[] = []
    const never = errorOf(receiver.expect('type:track never within 1s'))
    const once = receiver.expect('type:track within 1s').then(() => results.push('once'))
    const timed = errorOf(receiver.expect('type:track x3', { timeoutMs: 1_000 }))
    const stopped = new AbortController()
    const impatient = receiver.judge('type:track within 1s', { signal: stopped.signal })
    const posts: Promise<unknown>[] = []
    for (const delay of ['3s', '4s']) {
      const delayed = clock.scheduled(Number(delay[0]) * 1_000)
      posts.push(post(`${url}/delay/${delay}`, trackBody))
      await delayed
    }
    expect(receiver.underWay).toBe(2)
    await clock.advance(2_000)
    await post(url, trackBody)
    stopped.abort()
    expect((await impatient).result).toMatchObject({ state: 'unmet', matched: 0 })
    expect(results).toEqual([])
    await clock.advance(1_000)
    expect((await never).result).toMatchObject({ shortfall: { surplus: { seq: 2 } } })
    await once
    expect(receiver.underWay).toBe(1)
    await clock.advance(1_000)
    expect((await timed).result.account).toBe('expected exactly 3, got 2')
    await Promise.all(posts)
  })

  test('counts a request that arrived in time and is cut short when the receiver closes', async () => {
    const { clock, receiver, url } = await startStill()
    const never = receiver.expect('type:track never within 1s')
    const delayed = clock.scheduled(3_000)
    const posting = post(`${url}/delay/3s`, trackBody)
    await delayed
    await clock.advance(1_000)
    await receiver.close()
    await expect(never).rejects.toThrow('expected none, got 1')
    await posting
  })

  test('can be awaited inside an event listener, where the event counts as finished', async () => {
    const { receiver, url } = await start()
    let counted = -1
    receiver.on('event', async () => {
      counted = (await receiver.expect('type:track x1', { timeoutMs: 1 })).length
    })
    await post(url, trackBody)
    expect(counted).toBe(1)
  })

  test.each([
    ['type:nothing', {}, MatchError],
    ['type:track', { count: 2 }, SettingError],
    [{ type: 'track' }, { count: -1 }, SettingError],
    [{ type: 'track' }, { count: { atLeast: 2, atMost: 1 } }, SettingError],
    [{ type: 'track' }, { count: { atLeast: 0.5 } }, SettingError],
    [{ type: 'track' }, { after: 0.5 }, SettingError],
    [{ type: 'track' }, { timeoutMs: -1 }, SettingError],
    [{ type: 'track' }, { timeoutMs: 2 ** 31 }, SettingError],
  ])('%j with %j is refused', async (expected, options, error) => {
    const { receiver } = await startStill()
    await expect(receiver.expect(expected, options)).rejects.toThrow(error)
  })
})

/** Creates an event log without HTTP, and expectations that wait for its events. */
function createLog(eventsMax: number) {
  const clock = new WatchedClock(0)
  const waits = new Waits(clock)
  const log = new EventLog(eventsMax, silentLog, new Waits(clock))
  return { clock, waits, log, expectations: new Expectations(log, waits, clock) }
}

function numbered(index: number): UnnumberedEvent {
  const body = { type: 'track', event: `Step ${index % 10}`, userId: `u_${index}` } as const
  return {
    atMs: 0,
    method: 'POST',
    path: '/',
    headers: {},
    rawBody: Buffer.from(JSON.stringify(body)),
    bytes: 50,
    kind: 'webhook',
    type: 'track',
    userId: body.userId,
    body,
    code: null,
    signature: 'unchecked',
    reason: null,
    diagnosis: null,
    forward: null,
    status: 200,
    endpoint: 1,
    injected: null,
    withheld: null,
    durationMs: 0,
  }
}

describe('dropped events', () => {
  test('reject an expectation that would have to guess their number', async () => {
    const { clock, log, expectations } = createLog(2)
    for (const index of [1, 2, 3]) await log.add(() => numbered(index))
    const notKept = /^Cannot count user:u_1.*: the first request is no longer kept$/
    await expect(expectations.judge('user:u_1 never')).rejects.toThrow(notKept)
    const missing = expect(expectations.judge('user:u_1')).rejects.toThrow(notKept)
    await clock.advance(4_000)
    await missing
    expect(await expectations.judge('user:u_2')).toMatchObject({ result: { state: 'met' } })
    const later = expectations.judge('user:u_1 never', { after: 1 })
    await clock.advance(4_000)
    expect(await later).toMatchObject({ result: { state: 'met' } })
  })

  test('are still counted by expectations that began before them: 100,000 events', async () => {
    const { log, waits, expectations } = createLog(100)
    const texts = [
      'type:track x100000',
      'type:track x99999',
      'event:"Step 3" x10000',
      'event:"Step 3" x10001..',
      'user:u_99999',
      'user:u_100000 never',
      'user:u_50000 never',
      'type:page',
    ]
    const forever = { timeoutMs: Infinity }
    const judging = Promise.all(texts.map((text) => expectations.judge(text, forever)))
    let keptMost = 0
    for (let index = 0; index < 100_000; index += 1) {
      await log.add(() => numbered(index))
      keptMost = Math.max(keptMost, index % 1_000 === 0 ? log.events.length : 0)
    }
    await nextTurn()
    waits.endAll()
    const results = (await judging).map(({ result }) => [result.state, result.matched])
    expect(results).toEqual([
      ['met', 100_000],
      ['unmet', 100_000],
      ['met', 10_000],
      ['unmet', 10_000],
      ['met', 1],
      ['met', 0],
      ['unmet', 1],
      ['unmet', 0],
    ])
    expect(keptMost).toBe(100)
  })
})
