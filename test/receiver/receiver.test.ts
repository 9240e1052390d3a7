import { once } from 'node:events'
import { createServer } from 'node:net'
import { request } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bodyDeadlineMs } from '../../src/http/index.ts'
import { EvrouteError } from '../../src/model/index.ts'
import { Receiver } from '../../src/receiver/index.ts'
import { createRuntime, silentLog, systemClock } from '../../src/runtime/index.ts'
import { freePort } from '../support/free-port.ts'
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

describe('starting and closing', () => {
  test('listens on a free port, only on this machine, and reports that it is healthy', async () => {
    const { url, port } = await start()
    expect(url).toBe(`http://127.0.0.1:${port}`)
    const response = await request(`${url}/healthz`)
    expect(response.statusCode).toBe(200)
    expect(await response.body.json()).toEqual({ ok: true })
    expect(response.headers['x-powered-by']).toBeUndefined()
  })

  test('starts once, however often start() is called', async () => {
    const { receiver, url } = await start()
    const addresses = await Promise.all([receiver.start(), receiver.start()])
    expect(addresses.map((address) => address.url)).toEqual([url, url])
  })

  test('reports a port in use, and starts once the port is free', async () => {
    const port = await freePort()
    const other = createServer().listen(port, '127.0.0.1')
    await once(other, 'listening')
    const receiver = new Receiver({ port })
    onTestFinished(() => receiver.close())
    await expect(receiver.start()).rejects.toThrow(
      expect.objectContaining({ name: 'EvrouteError', code: 'port_in_use' }),
    )
    other.close()
    await once(other, 'close')
    expect((await receiver.start()).port).toBe(port)
  })

  test('closes at the end of its using block, and stays closed', async () => {
    let closed: Receiver
    let url: string
    {
      await using receiver = new Receiver()
      closed = receiver
      url = (await receiver.start()).url
    }
    await expect(post(url, trackBody)).rejects.toThrow()
    await expect(closed.start()).rejects.toThrow(EvrouteError)
    await closed.close()
  })

  test('closes before it was started, or while its start fails', async () => {
    await new Receiver().close()
    const { port } = await start()
    const second = new Receiver({ port })
    const starting = second.start()
    await Promise.all([expect(starting).rejects.toThrow(EvrouteError), second.close()])
  })
})

describe('with misbehaving senders', () => {
  test('a request is recorded at once when its sender disconnects before the delayed answer', async () => {
    const clock = new WatchedClock(0)
    const { receiver, port } = await start({ delayMs: 60_000, runtime: createRuntime({ clock }) })
    const received = nextEvent(receiver)
    const delayed = clock.scheduled(60_000)
    const socket = await dial(port)
    socket.write(rawPost('/', trackBody))
    await delayed
    socket.destroy()
    expect(await received).toMatchObject({
      kind: 'webhook',
      reason: 'The sender closed the connection before the answer',
      status: null,
      durationMs: 0,
    })
  })

  test('a path that is not a valid URL is recorded as it is', async () => {
    const { receiver, port } = await start()
    const socket = await dial(port)
    socket.write(rawPost('http://[', trackBody))
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 200 /)
    expect(receiver.events[0]?.path).toBe('http://[')
  })

  test('the values of a repeated header are joined', async () => {
    const { receiver, url } = await start()
    const headers = ['x-team', 'a', 'x-team', 'b', 'set-cookie', 'c=1', 'set-cookie', 'd=2']
    await (await request(url, { method: 'POST', body: trackBody, headers })).body.dump()
    expect(receiver.events[0]?.headers).toMatchObject({
      'x-team': 'a, b',
      'set-cookie': 'c=1, d=2',
    })
  })

  test('an internal failure is answered 500', async () => {
    const warnings: string[] = []
    const clock = {
      ...systemClock,
      nowMs: () => {
        throw new Error('out of time')
      },
    }
    const log = { ...silentLog, warn: (message: string) => warnings.push(message) }
    const { url } = await start({ runtime: createRuntime({ clock, log }) })
    expect(await post(url, trackBody)).toMatchObject({
      status: 500,
      body: { error: { code: 'internal_error' } },
    })
    expect(warnings).toEqual(['a request could not be handled'])
  })
})

describe('closing with requests in progress', () => {
  test('cuts a delay short: the sender is answered and the event recorded', async () => {
    const clock = new WatchedClock(0)
    const { receiver, url } = await start({ delayMs: 60_000, runtime: createRuntime({ clock }) })
    const delayed = clock.scheduled(60_000)
    const replying = post(url, trackBody)
    await delayed
    await Promise.all([receiver.close(), receiver.close()])
    expect(receiver.counts.wellFormed).toBe(1)
    expect(await replying).toMatchObject({ status: 200, headers: { connection: 'close' } })
  })

  test('abandons a body that does not arrive, and records nothing later', async () => {
    const clock = new WatchedClock(0)
    const { receiver, port } = await start({ runtime: createRuntime({ clock }) })
    const reading = clock.scheduled(bodyDeadlineMs)
    const socket = await dial(port)
    socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{"ty')
    await reading
    await receiver.close()
    expect(receiver.events).toMatchObject([{ code: 'incomplete_body' }])
  })

  test('still receives a body that arrives during the grace period', async () => {
    const clock = new WatchedClock(0)
    const { receiver, port } = await start({ delayMs: 10, runtime: createRuntime({ clock }) })
    const reading = clock.scheduled(bodyDeadlineMs)
    const socket = await dial(port)
    const answering = readAll(socket)
    socket.write(
      `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${trackBody.length}\r\n\r\n`,
    )
    await reading
    const closing = receiver.close()
    socket.write(trackBody)
    expect(await answering).toMatch(/^HTTP\/1.1 200 /)
    await closing
    expect(receiver.counts.wellFormed).toBe(1)
  })
})

describe('slow listeners', () => {
  test('are awaited before the sender is answered', async () => {
    const { receiver, url } = await start()
    const written = gate()
    const steps: string[] = []
    receiver.on('event', async () => {
      await written.opened
      steps.push('written')
    })
    const received = nextEvent(receiver)
    const answered = post(url, trackBody).then(() => steps.push('answered'))
    await received
    written.open()
    await answered
    expect(steps).toEqual(['written', 'answered'])
  })

  test('do not prevent a receiver from closing: senders are answered, events announced', async () => {
    const { receiver, url } = await start()
    const notified: number[] = []
    receiver.on('event', ({ seq }) => {
      notified.push(seq)
      return new Promise(() => undefined)
    })
    const received = nextEvent(receiver)
    const first = post(url, trackBody)
    await received
    const closing = receiver.close()
    expect(await first).toMatchObject({ status: 200 })
    await closing
    expect(notified).toEqual([1])
  })

  test('do not prevent it from closing after the sender has disconnected', async () => {
    const { receiver, port } = await start()
    receiver.on('event', () => new Promise(() => undefined))
    const received = nextEvent(receiver)
    const socket = await dial(port)
    socket.write(rawPost('/', trackBody))
    await received
    socket.destroy()
    await receiver.close()
    expect(receiver.counts.received).toBe(1)
  })

  test('may close the receiver', async () => {
    const { receiver, url } = await start()
    receiver.on('event', () => receiver.close())
    expect(await post(url, trackBody)).toMatchObject({ status: 200 })
    await receiver.close()
  })
})

describe('waitFor', () => {
  test('resolves when enough well-formed webhooks have arrived, before or after the call', async () => {
    const { receiver, url } = await start({ secret })
    const waiting = receiver.waitFor(2)
    await post(url, trackBody, signed(trackBody))
    await post(url, 'nonsense')
    await post(url, trackBody)
    await waiting
    await receiver.waitFor(2, { timeoutMs: 0 })
    expect(receiver.counts).toMatchObject({ received: 3, wellFormed: 2, malformed: 1 })
  })

  test('ends when its time is over', async () => {
    const clock = new WatchedClock(0)
    const { receiver, url } = await start({ runtime: createRuntime({ clock }) })
    await post(url, trackBody)
    const unmet = expect(receiver.waitFor(2, { timeoutMs: 5_000 })).rejects.toThrow(
      expect.objectContaining({
        code: 'expectation_unmet',
        message: expect.stringContaining('1 of 2 webhooks arrived') as string,
      }),
    )
    await clock.advance(5_000)
    await unmet
  })

  test('ends when the receiver closes', async () => {
    const { receiver } = await start()
    const unmet = expect(receiver.waitFor(1)).rejects.toThrow(
      expect.objectContaining({ code: 'expectation_unmet' }),
    )
    await receiver.close()
    await unmet
    await expect(receiver.waitFor(1)).rejects.toThrow(EvrouteError)
  })
})
