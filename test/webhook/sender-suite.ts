import { describe, expect, onTestFinished, test } from 'vitest'
import {
  checkDestination,
  signBody,
  type Sender,
  type SenderOptions,
} from '../../src/webhook/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { unreachableUrl } from '../support/free-port.ts'
import { gate } from '../support/gate.ts'
import { body, postTo as postOver } from './post-to.ts'

/** Long enough for any response, short enough to wait for its absence. */
const shortDeadlineMs = 150

/** Tests a sender, whichever thread it sends from. */
export function describeSender(name: string, openSender: (options: SenderOptions) => Sender): void {
  const postTo: typeof postOver = (endpoint, settings) =>
    postOver(endpoint, { ...settings, open: openSender })

  describe(name, () => {
    describe('a request', () => {
      test('is a POST with exactly the body to path and query', async () => {
        const endpoint = await TestEndpoint.start()
        await postTo({ url: `${endpoint.origin}/hooks/a%20b?team=growth&x=%C3%A4#part` })()
        expect(endpoint.requests).toHaveLength(1)
        expect(endpoint.requests[0]).toMatchObject({
          method: 'POST',
          path: '/hooks/a%20b?team=growth&x=%C3%A4',
        })
        expect(endpoint.requests[0]?.body).toEqual(Buffer.from(body))
      })

      test('has the specified headers, the static ones and no others', async () => {
        const endpoint = await TestEndpoint.start()
        await postTo({
          url: endpoint.url,
          headers: { 'X-Team': 'growth', Authorization: 'Bearer ä' },
        })()
        const rawHeaders = endpoint.requests[0]?.rawHeaders ?? []
        const names = rawHeaders.filter((_, index) => index % 2 === 0)
        expect(names.toSorted()).toEqual([
          'Authorization',
          'Content-Type',
          'User-Agent',
          'X-Team',
          'connection',
          'content-length',
          'host',
        ])
        expect(endpoint.requests[0]?.headers).toMatchObject({
          'user-agent': 'evroute/1.0',
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(body)),
          host: new URL(endpoint.origin).host,
          'x-team': 'growth',
          authorization: 'Bearer ä',
        })
      })

      test('is signed over the bytes that arrive', async () => {
        const endpoint = await TestEndpoint.start()
        await postTo({ url: endpoint.url }, { sharedSecret: 'geheim-🔑' })()
        const received = endpoint.requests[0]!
        expect(received.headers['x-signature']).toBe(signBody(received.body, 'geheim-🔑'))
        expect(received.rawHeaders).toContain('X-Signature')
      })
    })

    describe('a response', () => {
      test.each([200, 204, 404, 429, 503])(
        'with the status %i is reported unchanged',
        async (status) => {
          const endpoint = await TestEndpoint.start(status)
          expect(await postTo({ url: endpoint.url })()).toEqual({
            kind: 'answered',
            status,
            retryAfter: undefined,
            excerpt: '',
          })
        },
      )

      test('is reported with its Retry-After and the beginning of its body', async () => {
        const endpoint = await TestEndpoint.start({
          status: 429,
          headers: { 'Retry-After': '120' },
          body: 'x'.repeat(5_000),
        })
        expect(await postTo({ url: endpoint.url })()).toEqual({
          kind: 'answered',
          status: 429,
          retryAfter: '120',
          excerpt: 'x'.repeat(4_096),
        })
      })

      test('with several Retry-After headers is reported with the first', async () => {
        const endpoint = await TestEndpoint.start({
          status: 503,
          headers: { 'Retry-After': ['7', '9'] },
        })
        expect(await postTo({ url: endpoint.url })()).toMatchObject({ retryAfter: '7' })
      })

      test.each([301, 302, 303, 307, 308])(
        'that redirects with %i is not followed',
        async (status) => {
          const elsewhere = await TestEndpoint.start()
          const endpoint = await TestEndpoint.start({
            status,
            headers: { location: elsewhere.url },
          })
          expect(await postTo({ url: endpoint.url })()).toMatchObject({ kind: 'answered', status })
          expect(endpoint.requests).toHaveLength(1)
          expect(elsewhere.connections).toBe(0)
        },
      )
    })

    describe('a success whose body does not end properly', () => {
      test('counts as a success even if the body trickles in; the connection closes at the deadline', async () => {
        const endpoint = await TestEndpoint.start(['drip', 204])
        const post = postTo({ url: endpoint.url }, { deadlineMs: shortDeadlineMs, concurrency: 1 })
        const outcome = await post()
        expect(outcome).toMatchObject({ kind: 'answered', status: 200 })
        expect(outcome).toHaveProperty('excerpt', expect.stringMatching(/^\.+$/))
        expect(await post()).toMatchObject({ kind: 'answered', status: 204 })
        expect(endpoint.openConnectionsMax).toBeLessThanOrEqual(2)
      })

      test('counts if the body is cut off, and the part that arrived is kept', async () => {
        const endpoint = await TestEndpoint.start(['cut', 204])
        const post = postTo({ url: endpoint.url }, { concurrency: 1 })
        expect(await post()).toMatchObject({
          kind: 'answered',
          status: 200,
          excerpt: 'the beginning',
        })
        expect(await post()).toMatchObject({ kind: 'answered', status: 204 })
      })

      // Shorter than the deadline, so only the limit on the bytes read can end this.
      test('counts if the body never ends, and 4 KB are kept', { timeout: 4_500 }, async () => {
        const endpoint = await TestEndpoint.start(['endless', 204])
        const post = postTo({ url: endpoint.url }, { concurrency: 1 })
        const outcome = await post()
        expect(outcome).toMatchObject({ kind: 'answered', status: 200, excerpt: '.'.repeat(4_096) })
        expect(await post()).toMatchObject({ kind: 'answered', status: 204 })
      })
    })

    describe('a missing response', () => {
      test('is a timeout at the deadline', async () => {
        const endpoint = await TestEndpoint.start('hang')
        const post = postTo({ url: endpoint.url }, { deadlineMs: shortDeadlineMs })
        expect(await post()).toEqual({ kind: 'timeout' })
        await endpoint.disconnected()
      })

      test('is a timeout at the deadline even while the request waits for a connection', async () => {
        const endpoint = await TestEndpoint.start('hang')
        const post = postTo({ url: endpoint.url }, { deadlineMs: shortDeadlineMs, concurrency: 1 })
        const timeout = { kind: 'timeout' }
        expect(await Promise.all([post(), post(), post()])).toEqual([timeout, timeout, timeout])
        // The first request, and the second if its own deadline passes a moment after that of the first.
        expect(endpoint.requests.length).toBeLessThanOrEqual(2)
      })

      test.each([
        { misbehaviour: 'reset', code: 'ECONNRESET' },
        { misbehaviour: 'hang-up', code: 'connection_closed' },
        { misbehaviour: 'half-close', code: 'connection_closed' },
        { misbehaviour: 'malformed', code: 'malformed_answer' },
      ] as const)('because of $misbehaviour is $code', async ({ misbehaviour, code }) => {
        const endpoint = await TestEndpoint.start([misbehaviour, 200])
        const post = postTo({ url: endpoint.url }, { concurrency: 1 })
        expect(await post()).toMatchObject({ kind: 'connection_failed', code })
        expect(await post()).toMatchObject({ kind: 'answered', status: 200 })
      })

      test('because of oversized headers is answer_head_too_large', async () => {
        const headers = { 'X-Long': 'x'.repeat(20_000) }
        const endpoint = await TestEndpoint.start({ status: 200, headers })
        const outcome = await postTo({ url: endpoint.url })()
        expect(outcome).toMatchObject({ kind: 'connection_failed', code: 'answer_head_too_large' })
      })

      test('because the port has no listener is ECONNREFUSED', async () => {
        const post = postTo({ url: await unreachableUrl() })
        expect(await post()).toMatchObject({ kind: 'connection_failed', code: 'ECONNREFUSED' })
      })

      test('because the host has no address is ENOTFOUND', async () => {
        // A label of 64 letters is invalid, so it is refused without asking a name server.
        const post = postTo({ url: `http://${'a'.repeat(64)}.example.com/` })
        expect(await post()).toMatchObject({ kind: 'connection_failed', code: 'ENOTFOUND' })
      })

      test('because the endpoint does not speak TLS is not a certificate failure', async () => {
        const endpoint = await TestEndpoint.start()
        const post = postTo({ url: endpoint.url.replace('http:', 'https:') })
        expect(await post()).toMatchObject({ kind: 'connection_failed' })
        expect(endpoint.requests).toHaveLength(0)
      })
    })

    describe('connections', () => {
      test('are kept open and reused', async () => {
        const endpoint = await TestEndpoint.start({ status: 200, body: 'thank you' })
        const post = postTo({ url: endpoint.url }, { concurrency: 1 })
        for (let count = 0; count < 5; count++) await post()
        expect(endpoint.requests).toHaveLength(5)
        expect(endpoint.connections).toBe(1)
      })

      test('are kept open however many requests they have carried', async () => {
        const endpoint = await TestEndpoint.start({ status: 200, body: '.'.repeat(60 * 1024) })
        const post = postTo({ url: endpoint.url }, { concurrency: 1 })
        for (let count = 0; count < 20; count++) await post()
        expect(endpoint.requests).toHaveLength(20)
        expect(endpoint.connections).toBe(1)
      })

      test('never exceed the concurrency', async () => {
        const { opened, open } = gate()
        const endpoint = await TestEndpoint.start({ status: 200, after: opened })
        const post = postTo({ url: endpoint.url }, { concurrency: 3 })
        const outcomes = Promise.all(Array.from({ length: 12 }, () => post()))
        await endpoint.received(3)
        open()
        await outcomes
        expect(endpoint.requests).toHaveLength(12)
        expect(endpoint.connections).toBe(3)
      })

      test('are shared by all endpoints with the same origin', async () => {
        const { opened, open } = gate()
        const server = await TestEndpoint.start({ status: 200, after: opened })
        const destination = checkDestination({
          id: 'crm',
          sourceIds: ['website'],
          endpoints: [{ url: `${server.origin}/a` }, { url: `${server.origin}/b` }],
          concurrency: 2,
        })
        const sender = openSender({ destination })
        onTestFinished(() => sender.close())
        const requests = [...destination.endpoints, ...destination.endpoints]
        const outcomes = Promise.all(
          requests.map((endpoint) => sender.post(endpoint, { body, messageId: 'm_1' })),
        )
        await server.received(4)
        open()
        await outcomes
        expect(server.openConnectionsMax).toBe(4)
      })
    })

    describe('a closed sender', () => {
      test('interrupts requests in progress', async () => {
        const endpoint = await TestEndpoint.start('hang')
        const post = postTo({ url: endpoint.url })
        const outcome = post()
        await endpoint.received(1)
        await post.sender.close()
        expect(await outcome).toEqual({ kind: 'interrupted' })
        await endpoint.disconnected()
      })

      test('sends no further requests', async () => {
        const endpoint = await TestEndpoint.start()
        const post = postTo({ url: endpoint.url })
        await post.sender.close()
        await post.sender.close()
        expect(await post()).toEqual({ kind: 'interrupted' })
        expect(endpoint.connections).toBe(0)
      })
    })
  })
}
