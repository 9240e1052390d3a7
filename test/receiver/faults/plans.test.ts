import { describe, expect, test } from 'vitest'
import { SettingError } from '../../../src/model/index.ts'
import type { ReceiverOptions } from '../../../src/receiver/index.ts'
import { createRuntime } from '../../../src/runtime/index.ts'
import { post, secret, signed, start, trackBody, WatchedClock } from '../requests.ts'

const pageBody = '{"version":1,"type":"page","userId":"u_1"}'

async function statuses(url: string, bodies: readonly string[]): Promise<readonly number[]> {
  const found: number[] = []
  for (const body of bodies) found.push((await post(url, body)).status)
  return found
}

describe('a plan', () => {
  test('gives its answers in turn, and repeats the last one', async () => {
    const { receiver, url } = await start({ respond: '503x3,429,200' })
    const bodies = Array.from({ length: 7 }, () => trackBody)
    expect(await statuses(url, bodies)).toEqual([503, 503, 503, 429, 200, 200, 200])
    expect(receiver.events.map(({ injected }) => injected)).toEqual([
      'status 503',
      'status 503',
      'status 503',
      'status 429',
      null,
      null,
      null,
    ])
  })

  test.each<[string, ReceiverOptions['respond']]>([
    ['texts', ['type=track:500,200', '503']],
    ['parts', [{ type: 'track', steps: [{ answer: 500 }, { answer: 200 }] }, 503]],
  ])('for a type applies to that type only, given as %s', async (_, respond) => {
    const { url } = await start({ respond })
    const bodies = [pageBody, trackBody, pageBody, trackBody, trackBody]
    expect(await statuses(url, bodies)).toEqual([503, 500, 503, 200, 200])
  })

  test('is used up by well-formed webhooks only', async () => {
    const { url } = await start({ respond: '503,200' })
    const bodies = ['nonsense', '{"type":"order"}', trackBody, 'nonsense', trackBody]
    expect(await statuses(url, bodies)).toEqual([400, 400, 503, 400, 200])
    await (await fetch(url)).text()
  })

  test('is not used up by requests that are refused for their signature or directed by their path', async () => {
    const { url } = await start({ respond: '503,200', secret, strict: true })
    const send = async (path: string, headers: Readonly<Record<string, string>>) =>
      (await post(`${url}${path}`, trackBody, headers)).status
    expect(await send('/', signed(trackBody, 'another'))).toBe(401)
    expect(await send('/status/504', signed(trackBody))).toBe(504)
    expect(await send('/status/504', {})).toBe(401)
    expect(await send('/', signed(trackBody))).toBe(503)
    expect(await send('/', signed(trackBody))).toBe(200)
  })

  test('can be replaced while the receiver runs, and starts from the beginning', async () => {
    const { receiver, url } = await start({ respond: '503x2,200' })
    expect(await statuses(url, [trackBody])).toEqual([503])
    receiver.respond('500,201')
    expect(await statuses(url, [trackBody, trackBody, trackBody])).toEqual([500, 201, 201])
    receiver.respond(['503x2,200', 'type=page:429'])
    expect(await statuses(url, [trackBody, pageBody, trackBody, trackBody])).toEqual([
      503, 429, 503, 200,
    ])
    receiver.respond(200)
    expect(await statuses(url, [trackBody])).toEqual([200])
  })

  test('stays unchanged when its replacement cannot be parsed', async () => {
    const { receiver, url } = await start({ respond: 503 })
    expect(() => receiver.respond('sometimes')).toThrow(SettingError)
    expect(() => receiver.respond('endpoint=2:200')).toThrow('there is only 1')
    expect(await statuses(url, [trackBody])).toEqual([503])
  })

  test('gives each of many simultaneous webhooks one answer', async () => {
    const { receiver, url } = await start({ respond: '503x30,200' })
    const all = await Promise.all(Array.from({ length: 100 }, () => post(url, trackBody)))
    expect(all.filter(({ status }) => status === 503)).toHaveLength(30)
    expect(receiver.events.filter(({ injected }) => injected !== null)).toHaveLength(30)
  })
})

describe('a failure share', () => {
  const sequenceOf = async (options: ReceiverOptions): Promise<readonly number[]> => {
    const { url } = await start({ failShare: 0.3, ...options })
    return statuses(
      url,
      Array.from({ length: 60 }, () => trackBody),
    )
  }

  test('is answered 500, and fails the same requests with the same seed', async () => {
    const first = await sequenceOf({ seed: 42 })
    const failed = first.filter((status) => status === 500).length
    expect(new Set(first)).toEqual(new Set([200, 500]))
    expect(Math.abs(failed - 18)).toBeLessThan(12)
    expect(await sequenceOf({ seed: 42 })).toEqual(first)
    expect(await sequenceOf({ seed: 43 })).not.toEqual(first)
  })

  test('can inject a fault instead', async () => {
    const { receiver, url } = await start({ failShare: 1, fault: 'empty' })
    await expect(post(url, trackBody)).rejects.toThrow()
    expect(receiver.events).toMatchObject([{ injected: 'empty' }])
  })
})

describe('a path', () => {
  test.each([
    { path: '/status/503', body: trackBody, status: 503, injected: 'status 503' },
    { path: '/status/404/hook?a=b', body: trackBody, status: 404, injected: 'status 404' },
    { path: '/status/200', body: trackBody, status: 200, injected: null },
    { path: '/status/503', body: '', status: 503, injected: 'status 503' },
    { path: '/status/503', body: 'nonsense', status: 503, injected: 'status 503' },
    { path: '/hook', body: trackBody, status: 200, injected: null },
  ])('$path is answered $status, with $body', async ({ path, body, status, injected }) => {
    const { receiver, url } = await start()
    expect(await post(`${url}${path}`, body)).toMatchObject({ status })
    expect(receiver.events).toMatchObject([{ path, status, injected }])
  })

  test('takes precedence over plans and failure shares', async () => {
    const { url } = await start({ respond: 503, failShare: 1 })
    expect((await post(`${url}/status/201`, trackBody)).status).toBe(201)
  })

  test('that cannot be followed is answered 400 with the accepted directives', async () => {
    const { receiver, url } = await start()
    const message =
      'The path has "5O3" after /status: it must be a status from 200 to 599, as in /status/503'
    expect(await post(`${url}/status/5O3`, trackBody)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_path', message } },
    })
    expect(receiver.events).toMatchObject([{ status: 400, injected: null, reason: message }])
  })

  test('can ask for a fault', async () => {
    const { receiver, url } = await start()
    await expect(post(`${url}/fault/reset`, trackBody)).rejects.toThrow(
      expect.objectContaining({ code: 'ECONNRESET' }),
    )
    expect(receiver.events).toMatchObject([{ status: null, injected: 'reset' }])
  })

  test('does not override the refusal of a body that is too large', async () => {
    const { url } = await start()
    const large = Buffer.alloc(1024 * 1024 + 1, ' ')
    expect((await post(`${url}/status/200`, large)).status).toBe(413)
  })
})

describe('a delay', () => {
  test('in the path passes before the answer', async () => {
    const clock = new WatchedClock(0)
    const { receiver, url } = await start({ delayMs: 50, runtime: createRuntime({ clock }) })
    const delayed = clock.scheduled(6_000)
    const replying = post(`${url}/delay/6s/status/503`, trackBody)
    await delayed
    await clock.advance(5_999)
    expect(receiver.counts.received).toBe(0)
    await clock.advance(1)
    expect((await replying).status).toBe(503)
    expect(receiver.events).toMatchObject([
      { durationMs: 6_000, status: 503, injected: 'delay 6s, status 503' },
    ])
  })

  test('with a range is drawn anew for each answer, and reproducible by its seed', async () => {
    const durations = async (): Promise<readonly number[]> => {
      const clock = new WatchedClock(0)
      const delayMs = { fromMs: 1_000, toMs: 8_000 }
      const runtime = createRuntime({ clock })
      const { receiver, url } = await start({ delayMs, seed: 5, runtime })
      for (let turn = 0; turn < 5; turn += 1) {
        const begun = new Promise<void>((resolve) => {
          const schedule = clock.schedule.bind(clock)
          clock.schedule = (ms, task) => {
            const timer = schedule(ms, task)
            if (ms <= 8_000) resolve()
            return timer
          }
        })
        const replying = post(url, trackBody)
        await begun
        await clock.advance(8_000)
        await replying
      }
      return receiver.events.map(({ durationMs }) => durationMs)
    }
    const found = await durations()
    expect(new Set(found).size).toBe(5)
    expect(found.every((ms) => ms >= 1_000 && ms <= 8_000)).toBe(true)
    expect(await durations()).toEqual(found)
  })

  test('passes before a fault', async () => {
    const clock = new WatchedClock(0)
    const runtime = createRuntime({ clock })
    const { receiver, url } = await start({ delayMs: 250, fault: 'reset', runtime })
    const delayed = clock.scheduled(250)
    const failing = expect(post(url, trackBody)).rejects.toThrow()
    await delayed
    expect(receiver.counts.received).toBe(0)
    await clock.advance(250)
    await failing
    expect(receiver.events).toMatchObject([{ injected: 'delay 250ms, reset', durationMs: 250 }])
  })

  test('does not reorder the answers: the first requests get the first ones', async () => {
    const clock = new WatchedClock(0)
    const runtime = createRuntime({ clock })
    const { url } = await start({ respond: '503,200', runtime })
    const delayed = clock.scheduled(1_000)
    const first = post(`${url}/delay/1s`, trackBody)
    await delayed
    expect((await post(url, trackBody)).status).toBe(200)
    await clock.advance(1_000)
    expect((await first).status).toBe(503)
  })
})
