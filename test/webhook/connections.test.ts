import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { AddressGuard, Names, NameSource, type Answer } from '../../src/http/index.ts'
import { Connections } from '../../src/webhook/connections.ts'
import { Deadline } from '../../src/webhook/deadline.ts'
import { ManualClock, systemClock } from '../../src/runtime/index.ts'
import type { ConnectionKind } from '../../src/webhook/index.ts'
import { makeCertificate } from '../support/certificates.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { unreachableUrl } from '../support/free-port.ts'
import { DnsServer } from '../support/dns-server.ts'
import { gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'
import { fullBacklogPort } from './full-backlog.ts'
import { postTo, type SendingSettings } from './post-to.ts'

const shortDeadlineMs = 150

/** Opens a sender with one connection at a time, and records what it reports about connections. */
function posting(
  url: string,
  settings: SendingSettings & { readonly concurrency?: number } = {},
): { readonly post: ReturnType<typeof postTo>; readonly kinds: readonly ConnectionKind[] } {
  const kinds: ConnectionKind[] = []
  const onConnection = (kind: ConnectionKind): void => void kinds.push(kind)
  return { post: postTo({ url }, { concurrency: 1, ...settings, onConnection }), kinds }
}

/** Starts a server that announces keep-alive, but closes the connection after its answer. */
async function closingAfterwards(): Promise<{
  readonly url: string
  readonly disconnected: (count: number) => Promise<void>
}> {
  let closed = 0
  const server = createServer((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\n\r\n'))
    socket.once('close', () => {
      closed++
      server.emit('disconnect')
    })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    disconnected: async (count) => {
      while (closed < count) await once(server, 'disconnect')
    },
  }
}

describe('a request that got a connection', () => {
  test('reports whether the connection was opened for it or reused', async () => {
    const endpoint = await TestEndpoint.start({ status: 200, body: 'thank you' })
    const { post, kinds } = posting(endpoint.url)
    for (let count = 0; count < 3; count++) await post()
    expect(kinds).toEqual(['opened', 'reused', 'reused'])
    expect(endpoint.connections).toBe(1)
  })

  test('opens a new connection each time if the endpoint keeps none', async () => {
    const endpoint = await TestEndpoint.start({ status: 200, headers: { connection: 'close' } })
    const { post, kinds } = posting(endpoint.url)
    for (let count = 0; count < 3; count++) await post()
    expect(kinds).toEqual(['opened', 'opened', 'opened'])
    expect(endpoint.connections).toBe(3)
  })

  test('opens a new connection if the endpoint has closed the last one', async () => {
    const { url, disconnected } = await closingAfterwards()
    const { post, kinds } = posting(url)
    for (let count = 1; count <= 3; count++) {
      expect(await post()).toMatchObject({ kind: 'answered', status: 204 })
      await disconnected(count)
    }
    expect(kinds).toEqual(['opened', 'opened', 'opened'])
  })

  test.each(['reset', 'hang-up', 'half-close', 'malformed', 'cut', 'hang'] as const)(
    'is reported once, whatever its outcome (%s), and so is the next one',
    async (misbehaviour) => {
      const endpoint = await TestEndpoint.start([200, misbehaviour, 200, 200])
      const { post, kinds } = posting(endpoint.url, { deadlineMs: shortDeadlineMs })
      for (let count = 0; count < 4; count++) await post()
      expect(kinds).toEqual(['opened', 'reused', 'opened', 'reused'])
      expect(endpoint.connections).toBe(2)
    },
  )

  test('is reported when it is interrupted', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const { post, kinds } = posting(endpoint.url)
    const outcome = post()
    await endpoint.received(1)
    await post.sender.close()
    await outcome
    expect(kinds).toEqual(['opened'])
  })

  test('is reported for each of many concurrent requests', async () => {
    const { opened, open } = gate()
    const endpoint = await TestEndpoint.start({ status: 200, after: opened })
    const { post, kinds } = posting(endpoint.url, { concurrency: 3 })
    const outcomes = Promise.all(Array.from({ length: 12 }, () => post()))
    await endpoint.received(3)
    open()
    await outcomes
    expect(kinds.filter((kind) => kind === 'opened')).toHaveLength(endpoint.connections)
    expect(kinds).toHaveLength(12)
  })
})

describe('a request without a connection is not reported', () => {
  test('if the port has no listener, until there is one', async () => {
    const url = await unreachableUrl()
    const { post, kinds } = posting(url)
    await post()
    await post()
    expect(kinds).toEqual([])
    await TestEndpoint.start(200, undefined, { port: Number(new URL(url).port) })
    await post()
    expect(kinds).toEqual(['opened'])
  })

  test('if the listener is gone', async () => {
    const endpoint = await TestEndpoint.start()
    const { post, kinds } = posting(endpoint.url)
    await post()
    await endpoint.close()
    expect(await post()).toMatchObject({ kind: 'connection_failed' })
    expect(kinds).toEqual(['opened'])
  })

  test('if the certificate is refused', async () => {
    const certificate = await makeCertificate()
    const endpoint = await TestEndpoint.start(200, certificate)
    const { post, kinds } = posting(endpoint.url)
    expect(await post()).toMatchObject({ kind: 'certificate_refused' })
    expect(kinds).toEqual([])
  })

  test('if the address is refused', async () => {
    const { post, kinds } = posting('http://127.0.0.1:9/', { guard: new AddressGuard() })
    expect(await post()).toMatchObject({ kind: 'address_refused' })
    expect(kinds).toEqual([])
  })

  // Other systems refuse a connection when the backlog is full.
  const onLinux = test.runIf(process.platform === 'linux')
  onLinux('because it takes too long to connect', async () => {
    const url = `http://127.0.0.1:${await fullBacklogPort()}/`
    const { post, kinds } = posting(url, { deadlineMs: shortDeadlineMs })
    expect([await post(), await post()]).toEqual([{ kind: 'timeout' }, { kind: 'timeout' }])
    expect(kinds).toEqual([])
  })

  test('if the deadline passes while other requests use all connections', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const kinds: ConnectionKind[] = []
    const connections = new Connections({
      origin: new URL(endpoint.url).origin,
      connectionsMax: 1,
      guard: undefined,
      answerLimits: { readBytesMax: 1_024, keptBytesMax: 1_024 },
      onConnection: (kind) => void kinds.push(kind),
      clock: systemClock,
      random: () => 0,
    })
    const request = (deadline: Deadline): Promise<Answer> =>
      connections.request(() => ({ method: 'POST', path: '/', body: '{}' }), deadline)
    const far = new Deadline(60_000)
    const held = expect(request(far)).rejects.toThrow()
    await endpoint.received(1)
    await expect(request(new Deadline(1))).rejects.toThrow()
    await connections.close()
    await held
    far.cancel()
    expect(kinds).toEqual(['opened'])
  })
})

describe('a connection is used for a minute at most', () => {
  test('and the next request opens a new one', async () => {
    const clock = new ManualClock(startMs)
    const endpoint = await TestEndpoint.start()
    const { post, kinds } = posting(endpoint.url, { clock })
    await post()
    await clock.advance(59_999)
    await post()
    expect(kinds).toEqual(['opened', 'reused'])
    await clock.advance(1)
    await post()
    await post()
    expect(kinds).toEqual(['opened', 'reused', 'opened', 'reused'])
  })

  test('or for up to a random quarter less', async () => {
    const clock = new ManualClock(startMs)
    const endpoint = await TestEndpoint.start()
    const { post, kinds } = posting(endpoint.url, { clock, random: () => 0.5 })
    await post()
    await clock.advance(60_000 * (1 - 0.125) - 1)
    await post()
    await clock.advance(1)
    await post()
    expect(kinds).toEqual(['opened', 'reused', 'opened'])
  })

  test('but is never closed during a request', async () => {
    const clock = new ManualClock(startMs)
    const { opened, open } = gate()
    const endpoint = await TestEndpoint.start([{ status: 200, after: opened }, 200])
    const { post, kinds } = posting(endpoint.url, { clock })
    const outcome = post()
    await endpoint.received(1)
    await clock.advance(3_600_000)
    open()
    expect(await outcome).toMatchObject({ kind: 'answered', status: 200 })
    await post()
    expect(kinds).toEqual(['opened', 'opened'])
  })
})

describe('a host name whose address changes', () => {
  /** Starts endpoints on one port of two addresses. The name resolves to the first address. */
  async function movingEndpoint() {
    const before = await TestEndpoint.start()
    const port = Number(new URL(before.origin).port)
    const after = await TestEndpoint.start(200, undefined, { port, address: '127.0.0.2' })
    const server = await DnsServer.start({ 'hooks.example': ['127.0.0.1'] })
    onTestFinished(() => server.close())
    server.ttl = 5
    const clock = new ManualClock(startMs)
    const source = new NameSource({ servers: [server.address] })
    const { resolve: resolveName } = new Names({ source, clock })
    const guard = new AddressGuard({ allow: ['127.0.0.0/8'], resolveName })
    const url = `http://hooks.example:${port}/hook`
    return { before, after, server, clock, guard, url }
  }

  test('is followed within a minute, although no connection fails', async () => {
    const { before, after, server, clock, guard, url } = await movingEndpoint()
    const { post } = posting(url, { clock, guard })
    await post()
    server.names.set('hooks.example', ['127.0.0.2'])
    for (let second = 1; second <= 60; second++) {
      await clock.advance(1_000)
      await post()
    }
    expect([before.requests.length, after.requests.length]).toEqual([60, 1])
  })

  test('that no longer resolves has its connections closed, busy ones once they are idle', async () => {
    const { before, server, clock, guard, url } = await movingEndpoint()
    const { post } = posting(url, { clock, guard, concurrency: 2 })
    await post()
    await clock.advance(50_000)
    await Promise.all([post(), post()])
    expect(before.connections).toBe(2)
    server.names.delete('hooks.example')
    await clock.advance(10_000)
    const outcomes = await Promise.all([post(), post()])
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['answered', 'connection_failed'])
    expect(await post()).toMatchObject({ kind: 'connection_failed', code: 'ENOTFOUND' })
    await before.disconnected()
  })
})
