import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { answered, chunked, endlessAnswers, malformed, type Case } from './endless-answers.ts'
import {
  drip,
  hang,
  head,
  HostileEndpoint,
  send,
  sendAndEnd,
  sendAndReset,
  vanish,
} from './hostile-endpoint.ts'
import { postTo } from './post-to.ts'

/** Less than the maximum deadline of a sender, which is 5 s. */
const lessThanDeadline = { timeout: 4_500 }
const shortDeadlineMs = 200
/** The maximum that an endpoint can send before it is stopped: the buffers of the system. */
const sentBytesMax = 16 * 1024 * 1024

const closed = { kind: 'connection_failed', code: 'connection_closed' }
const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))

const untilDeadline: readonly Case[] = [
  {
    name: 'a body that drips, after a 200',
    answer: drip(head(200), '.'),
    outcome: { kind: 'answered', status: 200 },
  },
  {
    name: 'a body that drips, after a 500',
    answer: drip(head(500), '.'),
    outcome: { kind: 'answered', status: 500 },
  },
  {
    name: 'an HTTP/1.0 response without a length on a connection that stays open',
    answer: send('HTTP/1.0 200 OK\r\n\r\nhello'),
    outcome: answered(200, 'hello'),
  },
  {
    name: 'headers that drip',
    answer: drip('HTTP/1.1 200 OK\r\n', 'X-Drip: 1\r\n'),
    outcome: { kind: 'timeout' },
  },
  {
    name: 'a status line that drips',
    answer: drip('', 'HTTP/1.1 200 OK, and so on and on and on and on'),
    outcome: { kind: 'timeout' },
  },
  { name: 'status 103 that drips', answer: drip('', head(103)), outcome: { kind: 'timeout' } },
  { name: 'no response', answer: hang, outcome: { kind: 'timeout' } },
]

const cutOff: readonly Case[] = [
  {
    name: 'a reset within the headers',
    answer: sendAndReset('HTTP/1.1 200 OK\r\nX-Cut: '),
    // Which of the two occurs depends on the system.
    outcome: {
      kind: 'connection_failed',
      code: expect.stringMatching(/^(ECONNRESET|connection_closed)$/) as unknown,
    },
  },
  {
    name: 'a reset within the body of a 200',
    answer: sendAndReset(`${head(200, 'Content-Length: 10\r\n')}abc`),
    outcome: answered(200, 'abc'),
  },
  {
    name: 'a reset within the body of a 500',
    answer: sendAndReset(`${head(500, 'Content-Length: 10\r\n')}abc`),
    outcome: answered(500, 'abc'),
  },
  {
    name: 'an end within the headers',
    answer: sendAndEnd('HTTP/1.1 200 OK\r\nX-Cut: '),
    outcome: closed,
  },
  {
    name: 'HTTP/1.0 without a length',
    answer: sendAndEnd('HTTP/1.0 200 OK\r\n\r\nhello'),
    outcome: answered(200, 'hello'),
  },
]

const nonsense: readonly Case[] = [
  {
    name: 'bytes that are not HTTP',
    answer: send('\0\x01\x02 garbage\r\n\r\n'),
    outcome: malformed,
  },
  { name: 'no status line', answer: send('hello'), outcome: malformed },
  { name: 'status 000', answer: send(head(0).replace(' 0 ', ' 000 ')), outcome: malformed },
  { name: 'status 99', answer: send(head(99)), outcome: malformed },
  {
    name: 'a switch of protocols',
    answer: send(head(101, 'Connection: Upgrade\r\nUpgrade: other\r\n')),
    outcome: malformed,
  },
  { name: 'a switch to no protocol', answer: send(head(101)), outcome: malformed },
  {
    name: 'Transfer-Encoding and Content-Length',
    answer: send(`${head(200, `${chunked}Content-Length: 3\r\n`)}5\r\nhello\r\n0\r\n\r\n`),
    outcome: malformed,
  },
  {
    name: 'two lengths',
    answer: send(`${head(200, 'Content-Length: 3\r\nContent-Length: 5\r\n')}hello`),
    outcome: malformed,
  },
  {
    name: 'an invalid length',
    answer: send(head(200, 'Content-Length: -1\r\n')),
    outcome: malformed,
  },
  {
    name: 'a length that is too large',
    answer: send(head(200, `Content-Length: ${'9'.repeat(30)}\r\n`)),
    outcome: malformed,
  },
  {
    name: 'a chunk size that is too large',
    answer: send(`${head(200, chunked)}${'F'.repeat(30)}\r\nhello`),
    outcome: answered(200, ''),
  },
  {
    name: 'status 204 with a body',
    answer: send(`${head(204, 'Content-Length: 5\r\n')}hello`),
    outcome: answered(204, ''),
  },
]

describe('stopped long before the deadline:', () => {
  test.each(endlessAnswers)('$name', lessThanDeadline, async ({ answer, outcome }) => {
    const endpoint = await HostileEndpoint.start(answer)
    const post = postTo({ url: endpoint.url() }, { concurrency: 1 })
    expect(await post()).toMatchObject(outcome)
    await endpoint.disconnected()
    expect(endpoint.connections).toBe(1)
    expect(endpoint.sentBytesMax).toBeLessThan(sentBytesMax)
    expect(await post()).toMatchObject({ kind: 'answered', status: 204 })
  })
})

describe('stopped at the deadline:', () => {
  test.each(untilDeadline)('$name', lessThanDeadline, async ({ answer, outcome }) => {
    const endpoint = await HostileEndpoint.start(answer)
    const post = postTo({ url: endpoint.url() }, { deadlineMs: shortDeadlineMs, concurrency: 1 })
    expect(await post()).toMatchObject(outcome)
    await endpoint.disconnected()
    expect(await post()).toMatchObject({ kind: 'answered', status: 204 })
  })

  test('an endpoint that vanishes silently', lessThanDeadline, async () => {
    const { answer, comeBack } = vanish()
    const endpoint = await HostileEndpoint.start(answer)
    const post = postTo({ url: endpoint.url() }, { deadlineMs: shortDeadlineMs, concurrency: 1 })
    expect(await post()).toEqual({ kind: 'timeout' })
    expect(await post()).toMatchObject({ kind: 'answered', status: 204 })
    await post.sender.close()
    comeBack()
    await endpoint.disconnected()
  })
})

describe('a bad response closes only its own connection:', () => {
  const cases = [...cutOff, ...nonsense]
  test.each(cases)('$name', lessThanDeadline, async ({ answer, outcome }) => {
    const endpoint = await HostileEndpoint.start(answer)
    const post = postTo({ url: endpoint.url() }, { concurrency: 1 })
    expect(await post()).toMatchObject(outcome)
    await endpoint.disconnected()
    expect(await post()).toMatchObject({ kind: 'answered', status: 204 })
    expect(endpoint.connections).toBe(2)
  })
})

describe('a harmless response:', () => {
  test('a body that would inflate to 64 MB is kept compressed', lessThanDeadline, async () => {
    const headers = `Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n`
    const endpoint = await HostileEndpoint.start((socket) => {
      socket.write(head(200, headers))
      socket.write(bomb)
    })
    const outcome = await postTo({ url: endpoint.url() })()
    expect(outcome).toEqual(answered(200, bomb.subarray(0, 4_096).toString('utf8')))
  })

  test.each([102, 103])('a response after status %i counts', lessThanDeadline, async (status) => {
    const endpoint = await HostileEndpoint.start(send(head(status) + head(204)))
    const post = postTo({ url: endpoint.url() }, { concurrency: 1 })
    expect(await post()).toEqual(answered(204, ''))
  })

  test('header names like __proto__', lessThanDeadline, async () => {
    const headers = '__proto__: 1\r\nconstructor: 2\r\ntoString: 3\r\nretry-after: 4\r\n'
    const endpoint = await HostileEndpoint.start(send(head(204, headers)))
    const post = postTo({ url: endpoint.url() })
    expect(await post()).toEqual({ kind: 'answered', status: 204, retryAfter: '4', excerpt: '' })
  })
})

describe('not mistaken for the response to the next request:', () => {
  test('a second response sent together with the first', lessThanDeadline, async () => {
    const endpoint = await HostileEndpoint.start(
      send(head(500, 'Content-Length: 0\r\n') + head(202)),
    )
    const post = postTo({ url: endpoint.url() }, { concurrency: 1 })
    expect(await Promise.all([post(), post()])).toMatchObject([{ status: 500 }, { status: 204 }])
    expect(endpoint.requests).toBe(2)
  })

  test('a second response while no request is in flight', lessThanDeadline, async () => {
    const endpoint = await HostileEndpoint.start(send(head(500, 'Content-Length: 0\r\n')))
    const post = postTo({ url: endpoint.url() }, { concurrency: 1 })
    expect(await post()).toMatchObject({ status: 500 })
    await endpoint.writeToAll(head(202))
    expect(await post()).toMatchObject({ status: 204 })
    expect(endpoint.requests).toBe(2)
  })

  test('a response after the deadline', lessThanDeadline, async () => {
    const endpoint = await HostileEndpoint.start(hang)
    const post = postTo({ url: endpoint.url() }, { deadlineMs: shortDeadlineMs, concurrency: 1 })
    expect(await post()).toEqual({ kind: 'timeout' })
    await endpoint.writeToAll(head(202))
    expect(await post()).toMatchObject({ status: 204 })
    expect(endpoint.requests).toBe(2)
  })
})
