import { EventEmitter, once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  FairBudget,
  bodyDeadlineMs,
  discardBody,
  isArriving,
  listen,
  readBody,
  readSharedBody,
  type FairShare,
  type SharedBodyReading,
} from '../../src/http/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { dial, postHead, WatchedClock, writeBlanks } from './raw-client.ts'

const bytesMax = 1_000

type Read = (...given: Parameters<typeof readBody>) => Promise<SharedBodyReading>

/** Starts a server that reads bodies and answers 200. Returns what it read, and whether it paused the request. */
async function startReading(clock = new ManualClock(0), read: Read = readBody) {
  const readings = new EventEmitter<{ reading: [SharedBodyReading, boolean] }>()
  const listening = await listen(
    (request, response) =>
      void read(request, { bytesMax, clock }).then((reading) => {
        readings.emit('reading', reading, request.isPaused())
        response.end()
      }),
    { host: '127.0.0.1', port: 0 },
  )
  onTestFinished(() => listening.close(0))
  return {
    socket: await dial(listening.port),
    nextReading: async () => ((await once(readings, 'reading')) as [SharedBodyReading])[0],
    nextPause: async () => ((await once(readings, 'reading')) as [unknown, boolean])[1],
  }
}

const lengthOf = (bytes: number): string => postHead([`Content-Length: ${bytes}`])

describe('readBody', () => {
  test.each([
    ['nothing', lengthOf(0), ''],
    ['a body without a length or an end', postHead([]), ''],
    ['bytes of a known length', lengthOf(4), 'body'],
    ['the maximum number of bytes', lengthOf(bytesMax), 'x'.repeat(bytesMax)],
  ])('reads %s', async (_name, head, body) => {
    const { socket, nextReading } = await startReading()
    const reading = nextReading()
    socket.write(head + body)
    expect(await reading).toEqual({ kind: 'complete', bytes: Buffer.from(body) })
  })

  test('returns the bytes of a chunked body', async () => {
    const { socket, nextReading } = await startReading()
    const reading = nextReading()
    socket.write(postHead(['Transfer-Encoding: chunked', 'Content-Encoding: gzip']))
    for (const part of ['1\r\n\x1f\r\n', '2\r\n\x0bx\r\n', '0\r\n\r\n']) socket.write(part)
    expect(await reading).toEqual({ kind: 'complete', bytes: Buffer.from('\x1f\x0bx') })
  })

  test('keeps the part within the limit and reads the rest, so that the connection stays open', async () => {
    const { socket, nextReading } = await startReading()
    for (const bytes of [bytesMax + 1, 16 * bytesMax]) {
      const reading = nextReading()
      socket.write(lengthOf(bytes) + 'x'.repeat(bytes))
      expect(await reading).toEqual({
        kind: 'too_large',
        bytes: Buffer.from('x'.repeat(bytesMax)),
        isRead: true,
      })
    }
  })

  test('stops reading beyond sixteen times the limit', async () => {
    const { socket, nextReading, nextPause } = await startReading()
    const reading = nextReading()
    const paused = nextPause()
    socket.write(lengthOf(1_000 * bytesMax))
    await writeBlanks(socket, 16 * bytesMax + 1)
    expect(await reading).toEqual({
      kind: 'too_large',
      bytes: Buffer.alloc(bytesMax, ' '),
      isRead: false,
    })
    expect(await paused).toBe(true)
  })

  test.each([
    ['is too slow', 'partial', { kind: 'too_slow', bytes: Buffer.from('partial') }],
    [
      'is too large and does not end',
      'x'.repeat(bytesMax + 1),
      { kind: 'too_large', bytes: Buffer.from('x'.repeat(bytesMax)), isRead: false },
    ],
  ])('at the deadline, abandons a body that %s', async (_name, part, expected) => {
    const clock = new WatchedClock(0)
    const { socket, nextReading } = await startReading(clock)
    const begun = clock.scheduled(bodyDeadlineMs)
    const reading = nextReading()
    socket.write(lengthOf(100_000) + part)
    await begun
    await clock.advance(bodyDeadlineMs - 1)
    expect(clock.holds).toBe(1)
    await clock.advance(1)
    expect(await reading).toEqual(expected)
  })

  test.each([
    ['before the end of its body', 'partial', { kind: 'cut_off', bytes: Buffer.from('partial') }],
    [
      'after its body became too large',
      'x'.repeat(bytesMax + 1),
      { kind: 'too_large', bytes: Buffer.from('x'.repeat(bytesMax)), isRead: false },
    ],
  ])('notices that a client disconnects %s', async (_name, part, expected) => {
    const { socket, nextReading } = await startReading()
    const reading = nextReading()
    socket.end(lengthOf(100_000) + part)
    expect(await reading).toEqual(expected)
  })

  test('notices that a request had already ended or been aborted', async () => {
    const clock = new ManualClock(0)
    const readTwice: Read = async (request, limits) => {
      await readBody(request, limits)
      return readBody(request, limits)
    }
    const { socket, nextReading } = await startReading(clock, readTwice)
    const ended = nextReading()
    socket.write(lengthOf(4) + 'body')
    expect(await ended).toEqual({ kind: 'complete', bytes: Buffer.alloc(0) })
    const left = nextReading()
    socket.end(lengthOf(100_000) + 'partial')
    expect(await left).toEqual({ kind: 'cut_off', bytes: Buffer.alloc(0) })
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('holds the clock while it reads, and leaves no listeners or timers', async () => {
    const clock = new WatchedClock(0)
    const { socket, nextReading } = await startReading(clock)
    const begun = clock.scheduled(bodyDeadlineMs)
    const reading = nextReading()
    socket.write(lengthOf(4) + 'bod')
    await begun
    expect([clock.nextDueMs(), clock.holds]).toEqual([bodyDeadlineMs, 1])
    socket.write('y')
    await reading
    expect([clock.nextDueMs(), clock.holds]).toEqual([undefined, 0])
  })
})

describe('a body that shares a budget', () => {
  /** Starts a server that lets a single client use half of its budget. */
  async function startSharing(budgetBytes = 1_300) {
    const budget = new FairBudget(budgetBytes)
    const shares: FairShare[] = []
    const read: Read = (request, limits) => {
      const share = budget.share('203.0.113.7')
      shares.push(share)
      return readSharedBody(request, { ...limits, share })
    }
    return { ...(await startReading(undefined, read)), budget, shares }
  }

  test('holds its bytes until they are released', async () => {
    const { socket, nextReading, budget, shares } = await startSharing()
    const reading = nextReading()
    socket.write(lengthOf(600) + 'x'.repeat(600))
    expect(await reading).toEqual({ kind: 'complete', bytes: Buffer.from('x'.repeat(600)) })
    expect(budget.held).toBe(600)
    const next = nextReading()
    socket.write(lengthOf(101) + 'y'.repeat(101))
    expect(await next).toEqual({ kind: 'no_room', isRead: true })
    expect(budget.held).toBe(600)
    shares[0]?.release()
    const last = nextReading()
    socket.write(lengthOf(101) + 'z'.repeat(101))
    expect(await last).toEqual({ kind: 'complete', bytes: Buffer.from('z'.repeat(101)) })
  })

  test('releases everything if there is no room for the whole body', async () => {
    const { socket, nextReading, budget } = await startSharing()
    const reading = nextReading()
    socket.write(postHead(['Transfer-Encoding: chunked']))
    for (let part = 0; part < 9; part++) socket.write(`64\r\n${'x'.repeat(100)}\r\n`)
    socket.write('0\r\n\r\n')
    expect(await reading).toEqual({ kind: 'no_room', isRead: true })
    expect(budget.held).toBe(0)
  })

  test('takes at most twice its bytes from the budget, even in many small parts', async () => {
    const { socket, nextReading, budget } = await startSharing()
    const reading = nextReading()
    socket.write(postHead(['Transfer-Encoding: chunked']) + '1\r\nx\r\n'.repeat(300) + '0\r\n\r\n')
    expect(await reading).toEqual({ kind: 'complete', bytes: Buffer.from('x'.repeat(300)) })
    expect(budget.held).toBeLessThanOrEqual(600)
  })

  test('is reported as cut off or too large, with or without room for it', async () => {
    for (const [end, expected] of [
      ['', { kind: 'cut_off', bytes: Buffer.alloc(0) }],
      ['x'.repeat(bytesMax), { kind: 'too_large', bytes: Buffer.alloc(0), isRead: false }],
    ] as const) {
      const { socket, nextReading } = await startSharing(700)
      const reading = nextReading()
      socket.end(lengthOf(100_000) + 'x'.repeat(800) + end)
      expect(await reading).toEqual(expected)
    }
  })

  test('is not kept if it is to be discarded', async () => {
    const { socket, nextReading } = await startReading(undefined, discardBody)
    for (const [body, expected] of [
      ['', { kind: 'complete', bytes: Buffer.alloc(0) }],
      ['x', { kind: 'no_room', isRead: true }],
    ] as const) {
      const reading = nextReading()
      socket.write(lengthOf(body.length) + body)
      expect(await reading).toEqual(expected)
    }
  })
})

test.each<[SharedBodyReading, boolean]>([
  [{ kind: 'complete', bytes: Buffer.alloc(0) }, false],
  [{ kind: 'too_large', bytes: Buffer.alloc(0), isRead: true }, false],
  [{ kind: 'too_large', bytes: Buffer.alloc(0), isRead: false }, true],
  [{ kind: 'too_slow', bytes: Buffer.alloc(0) }, true],
  [{ kind: 'cut_off', bytes: Buffer.alloc(0) }, false],
  [{ kind: 'no_room', isRead: true }, false],
  [{ kind: 'no_room', isRead: false }, true],
])('more of the body may arrive after %j: %s', (body, expected) => {
  expect(isArriving(body)).toBe(expected)
})
