import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { faults, Receiver } from '../../../src/receiver/index.ts'
import { dripIntervalMs } from '../../../src/receiver/faults/inject-fault.ts'
import { createRuntime } from '../../../src/runtime/index.ts'
import { judge } from '../../../src/webhook/index.ts'
import { postTo } from '../../webhook/post-to.ts'
import { dial, post, rawPost, readAll, start, trackBody, WatchedClock } from '../requests.ts'

const shortDeadlineMs = 150

/** Everything that arrives, and how the connection ended. */
async function sendRequest(
  port: number,
  path = '/',
): Promise<{ text: string; error: string | undefined }> {
  const socket = await dial(port)
  let error: string | undefined
  socket.on('error', ({ code }: NodeJS.ErrnoException) => (error = code))
  const reading = readAll(socket)
  socket.write(rawPost(path, trackBody))
  const text = await reading
  return { text, error }
}

async function readUntil(socket: Socket, isEnough: (text: string) => boolean): Promise<string> {
  let text = ''
  while (!isEnough(text)) text += String((await once(socket, 'data')) as unknown)
  return text
}

describe('on the wire', () => {
  test('reset resets the connection', async () => {
    const { receiver, port } = await start({ fault: 'reset' })
    expect(await sendRequest(port)).toEqual({ text: '', error: 'ECONNRESET' })
    expect(receiver.events).toMatchObject([{ status: null, injected: 'reset', kind: 'webhook' }])
  })

  test('empty ends the connection without sending a byte', async () => {
    const { receiver, port } = await start({ fault: 'empty' })
    expect(await sendRequest(port)).toEqual({ text: '', error: undefined })
    expect(receiver.events).toMatchObject([{ status: null, injected: 'empty' }])
  })

  test('malformed sends bytes that are not HTTP', async () => {
    const { receiver, port } = await start({ fault: 'malformed' })
    const { text, error } = await sendRequest(port)
    expect(text).not.toMatch(/^HTTP/)
    expect({ length: text.length > 0, error }).toEqual({ length: true, error: undefined })
    expect(receiver.events).toMatchObject([{ status: null, injected: 'malformed' }])
  })

  test('truncate sends less than its Content-Length', async () => {
    const { receiver, port } = await start({ fault: 'truncate' })
    const [head = '', body = ''] = (await sendRequest(port)).text.split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 200 /)
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
    expect(body).toBe('{"ok":')
    expect(length).toBeGreaterThan(body.length)
    expect(receiver.events).toMatchObject([{ status: 200, injected: 'truncate' }])
  })

  test('hang sends nothing until the receiver closes', async () => {
    const { receiver, port } = await start({ fault: 'hang' })
    const received = new Promise((resolve) => receiver.on('event', resolve))
    const reply = sendRequest(port)
    expect(await received).toMatchObject({ status: null, injected: 'hang' })
    await receiver.close()
    expect((await reply).text).toBe('')
  })

  test('drip sends one byte a second until the receiver closes', async () => {
    const clock = new WatchedClock(0)
    const { receiver, port } = await start({ fault: 'drip', runtime: createRuntime({ clock }) })
    const socket = await dial(port)
    const waiting = clock.scheduled(dripIntervalMs)
    socket.write(rawPost('/', trackBody))
    const first = await readUntil(socket, (text) => text.endsWith('1\r\n \r\n'))
    expect(first).toMatch(/^HTTP\/1\.1 200 /)
    await waiting
    for (let second = 0; second < 3; second += 1) {
      const more = readUntil(socket, (text) => text.includes(' '))
      await clock.advance(dripIntervalMs)
      expect(await more).toBe('1\r\n \r\n')
    }
    const ended = once(socket.resume(), 'close')
    await receiver.close()
    await ended
    expect(receiver.events).toMatchObject([{ status: 200, injected: 'drip' }])
  })

  test('drip ends when the sender disconnects', async () => {
    const clock = new WatchedClock(0)
    const { port } = await start({ fault: 'drip', runtime: createRuntime({ clock }) })
    const socket = await dial(port)
    const waiting = clock.scheduled(dripIntervalMs)
    socket.write(rawPost('/', trackBody))
    await waiting
    expect(clock.nextDueMs()).toBe(dripIntervalMs)
    socket.destroy()
    while (clock.nextDueMs() !== undefined) await nextTurn()
  })

  test('endless sends only as much as the sender reads, until it disconnects', async () => {
    const { receiver, port } = await start({ fault: 'endless' })
    const socket = await dial(port)
    const received = new Promise((resolve) => receiver.on('event', resolve))
    socket.write(rawPost('/', trackBody))
    await received
    let takenBytes = 0
    while (takenBytes < 4 * 1024 * 1024) {
      const [chunk] = (await once(socket, 'data')) as [Buffer]
      takenBytes += chunk.length
    }
    socket.destroy()
    await receiver.close()
    expect(receiver.events).toMatchObject([{ status: 200, injected: 'endless' }])
  })

  test('endless waits for a sender that reads nothing, and ends with the receiver', async () => {
    const { receiver, port } = await start({ fault: 'endless' })
    const socket = await dial(port)
    socket.pause()
    const received = new Promise((resolve) => receiver.on('event', resolve))
    socket.write(rawPost('/', trackBody))
    await received
    await receiver.close()
    const text = await readAll(socket)
    // No more than the system buffers at both ends of a connection.
    expect(text.length).toBeLessThan(64 * 1024 * 1024)
  })
})

describe('the sender of evroute', () => {
  test.each([
    { fault: 'reset', verdict: 'retry', error: 'ECONNRESET' },
    { fault: 'hang', verdict: 'retry', error: 'timeout' },
    { fault: 'empty', verdict: 'retry', error: 'connection_closed' },
    { fault: 'malformed', verdict: 'retry', error: 'malformed_answer' },
    { fault: 'truncate', verdict: 'success', error: null },
    { fault: 'drip', verdict: 'success', error: null },
    { fault: 'endless', verdict: 'success', error: null },
  ] as const)('treats $fault as $verdict', async ({ fault, verdict, error }) => {
    const { receiver, url } = await start({ respond: [{ steps: [{ answer: fault }] }] })
    const outcome = await postTo({ url }, { deadlineMs: shortDeadlineMs, concurrency: 1 })()
    expect(judge(outcome)).toMatchObject({ verdict, error })
    expect(receiver.events).toMatchObject([{ kind: 'webhook', injected: fault }])
  })

  test('is tested with every fault', () => {
    expect([...faults].sort()).toEqual(
      ['reset', 'hang', 'empty', 'malformed', 'truncate', 'drip', 'endless'].sort(),
    )
  })
})

describe('with any fault injected', () => {
  test('the next request on a different connection is answered', async () => {
    const { receiver, url } = await start({
      respond: 'reset,empty,truncate,malformed,200',
    })
    const send = postTo({ url }, { deadlineMs: shortDeadlineMs, concurrency: 1 })
    const statuses: (number | null)[] = []
    for (let turn = 0; turn < 5; turn += 1) statuses.push(judge(await send()).status)
    expect(statuses).toEqual([null, null, 200, null, 200])
    expect(receiver.events.map(({ injected }) => injected)).toEqual([
      'reset',
      'empty',
      'truncate',
      'malformed',
      null,
    ])
  })

  test('a receiver closes at once with 50 faults in progress', async () => {
    const receiver = new Receiver({ respond: 'hangx20,dripx20,endless' })
    const { port } = await receiver.start()
    const arrived = receiver.waitFor(50)
    const replies = Array.from({ length: 50 }, () => sendRequest(port))
    await arrived
    await receiver.close()
    await Promise.all(replies)
    expect(receiver.counts.wellFormed).toBe(50)
  })

  test('the health check is answered', async () => {
    const { url } = await start({ fault: 'reset' })
    const response = await fetch(`${url}/healthz`)
    expect(response.status).toBe(200)
  })

  test('a request that is not a webhook gets its own refusal', async () => {
    const { receiver, url } = await start({ fault: 'reset' })
    expect(await post(url, 'nonsense')).toMatchObject({ status: 400 })
    expect(receiver.events).toMatchObject([{ injected: null, code: 'invalid_json' }])
  })
})
