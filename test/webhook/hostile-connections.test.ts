import { describe, expect, test } from 'vitest'
import type { RequestOutcome } from '../../src/webhook/index.ts'
import { connectTo, fullBacklogPort } from './full-backlog.ts'
import { hang, HostileEndpoint } from './hostile-endpoint.ts'
import { postTo, type Post } from './post-to.ts'

/** Less than the maximum deadline of a sender, which is 5 s. */
const lessThanDeadline = { timeout: 4_500 }
const shortDeadlineMs = 200
const timeout: RequestOutcome = { kind: 'timeout' }
const interrupted: RequestOutcome = { kind: 'interrupted' }

function postMany(post: Post, count: number): Promise<RequestOutcome>[] {
  return Array.from({ length: count }, () => post())
}

function times(count: number, outcome: RequestOutcome): readonly RequestOutcome[] {
  return Array.from({ length: count }, () => outcome)
}

describe('a connection that is never established', () => {
  // The endpoint accepts and stays silent, so the TLS handshake hangs.
  test('is abandoned at the deadline', lessThanDeadline, async () => {
    const endpoint = await HostileEndpoint.start()
    const post = postTo({ url: endpoint.url('https') }, { deadlineMs: shortDeadlineMs })
    expect(await post()).toEqual(timeout)
    await endpoint.disconnected()
    expect(await post()).toEqual(timeout)
  })

  test('delays waiting requests no longer than their own deadlines', lessThanDeadline, async () => {
    const endpoint = await HostileEndpoint.start()
    const settings = { deadlineMs: shortDeadlineMs, concurrency: 1 }
    const post = postTo({ url: endpoint.url('https') }, settings)
    expect(await Promise.all(postMany(post, 50))).toEqual(times(50, timeout))
    await endpoint.disconnected()
  })

  test('is abandoned when the sender closes', lessThanDeadline, async () => {
    const endpoint = await HostileEndpoint.start()
    const post = postTo({ url: endpoint.url('https') }, { concurrency: 2 })
    const outcomes = postMany(post, 5)
    await endpoint.accepted(2)
    await post.sender.close()
    expect(await Promise.all(outcomes)).toEqual(times(5, interrupted))
    await endpoint.disconnected()
    expect(endpoint.connections).toBe(2)
  })

  // Other systems refuse a connection when the backlog is full.
  const onLinux = test.runIf(process.platform === 'linux')
  onLinux('because the backlog is full is a timeout', lessThanDeadline, async () => {
    const port = await fullBacklogPort()
    const other = connectTo(port)
    const settings = { deadlineMs: shortDeadlineMs }
    expect(await postTo({ url: `http://127.0.0.1:${port}/` }, settings)()).toEqual(timeout)
    expect(other.connecting).toBe(true)
  })
})

describe('an endpoint that hangs', () => {
  const hangs = Array.from({ length: 200 }, () => hang)

  test(
    'never has more requests than connections, however many wait',
    lessThanDeadline,
    async () => {
      const endpoint = await HostileEndpoint.start(...hangs)
      const post = postTo({ url: endpoint.url() }, { concurrency: 5 })
      const outcomes = postMany(post, 50)
      await endpoint.received(5)
      await post.sender.close()
      expect(await Promise.all(outcomes)).toEqual(times(50, interrupted))
      await endpoint.disconnected()
      expect(endpoint.connections).toBe(5)
      expect(endpoint.requests).toBe(5)
    },
  )

  test('makes every request time out, and recovers afterwards', lessThanDeadline, async () => {
    const endpoint = await HostileEndpoint.start(...hangs)
    const settings = { deadlineMs: shortDeadlineMs, concurrency: 5 }
    const post = postTo({ url: endpoint.url() }, settings)
    expect(await Promise.all(postMany(post, 50))).toEqual(times(50, timeout))
    await endpoint.disconnected()
    endpoint.recover()
    expect(await post()).toMatchObject({ kind: 'answered', status: 204 })
  })
})
