import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { AudienceSyncRequest } from '../../src/admin-api/index.ts'
import { readIdleMs } from '../../src/admin-api/line-answer.ts'
import type { MembershipChange } from '../../src/audience/index.ts'
import { nowMs } from '../cli/deliveries/stores.ts'
import { dial, readAll, readSome, WatchedClock } from '../http/raw-client.ts'
import { gate } from '../support/gate.ts'
import { audience, readWhole, row, startAudiences, synced } from './recorded-audiences.ts'
import { endOf, head, upload } from './streamed-sync.ts'
import { sendRequest } from './support.ts'

describe('a client that disconnects', () => {
  /** A sync that records how it ended. */
  async function started(work: (request: AudienceSyncRequest) => Promise<void>) {
    const ended = gate()
    const ends: unknown[] = []
    const admin = await startAudiences({
      sync: async (request, list) => {
        try {
          await work(request)
          ends.push(await readWhole(list))
        } catch (error) {
          ends.push(error)
          throw error
        } finally {
          ends.push(request.signal.aborted)
          ended.open()
        }
        return synced
      },
    })
    return { ...admin, ended: ended.opened, ends }
  }

  async function* endless(read: () => void) {
    for (;;) {
      yield Buffer.from('u_secret\n')
      await nextTurn()
      read()
    }
  }

  test('counts neither as complete nor as failed', async () => {
    const began = gate()
    const { url, ended, ends, warnings, infos } = await started(() => Promise.resolve())
    const leave = new AbortController()
    const answer = upload(url, endless(began.open), leave.signal)
    answer.catch(() => undefined)
    await began.opened
    leave.abort()
    await ended
    expect(ends).toMatchObject([{ code: 'cut_off' }, expect.any(Boolean)])
    await expect(answer).rejects.toThrow('aborted')
    expect(await sendRequest(`${url}/healthz`)).toMatchObject({ status: 200 })
    expect(warnings).toEqual([])
    expect(infos).toMatchObject([{ message: 'admin action', outcome: 'failed' }])
  })

  test('aborts a sync that is not reading its list', async () => {
    const aborted = gate()
    const { url, ended, ends, warnings } = await started(async ({ listener, signal }) => {
      signal.addEventListener('abort', aborted.open)
      listener.rejected(row)
      await aborted.opened
      // The client has left, so this record is never sent.
      listener.rejected(row)
      signal.throwIfAborted()
    })
    const leave = new AbortController()
    const { body } = await upload(
      url,
      endless(() => undefined),
      leave.signal,
    )
    body.on('error', () => undefined)
    leave.abort()
    await ended
    expect(ends).toMatchObject([{ name: 'AbortError' }, true])
    expect(await sendRequest(`${url}/healthz`)).toMatchObject({ status: 200 })
    expect(warnings).toEqual([])
  })

  test('ends the sync even after its whole list has arrived', async () => {
    const aborted = gate()
    const { port, ended, ends } = await started(async ({ listener, signal }) => {
      signal.addEventListener('abort', aborted.open)
      listener.rejected(row)
      await aborted.opened
    })
    const socket = await dial(port)
    socket.write(head('Content-Length: 3') + 'u_1')
    await readSome(socket)
    socket.resetAndDestroy()
    await ended
    expect(ends).toMatchObject([{ code: 'cut_off' }, true])
  })
})

describe('a client that does not read', () => {
  const change: MembershipChange = {
    identity: { userId: 'u_1'.padEnd(900), anonymousId: null, email: null },
    value: 'true',
  }
  const part = Array.from({ length: 1_000 }, () => change)
  const partsMax = 30

  /** Sends much more than the system can buffer, and counts the parts that were sent. */
  async function started(clock: WatchedClock) {
    const sent = { parts: 0, isAborted: false }
    const ended = gate()
    const admin = await startAudiences(
      {
        sync: async ({ listener, drained, signal }) => {
          while (sent.parts < partsMax && !signal.aborted) {
            await drained?.()
            listener.changed(part)
            sent.parts++
          }
          sent.isAborted = signal.aborted
          ended.open()
          return synced
        },
      },
      { clock },
    )
    return { ...admin, sent, ended: ended.opened }
  }

  async function stalled() {
    const clock = new WatchedClock(nowMs)
    const admin = await started(clock)
    const stalls = clock.scheduled(readIdleMs)
    const socket = await dial(admin.port)
    socket.pause()
    socket.write(head('Content-Length: 0', 'Connection: close'))
    await stalls
    return { ...admin, clock, socket }
  }

  test('blocks the sync until it reads', async () => {
    const { socket, sent, clock } = await stalled()
    await nextTurn()
    expect(sent.parts).toBeLessThan(20)
    const text = await readAll(socket)
    expect(sent.parts).toBe(partsMax)
    expect(text.match(/"kind":"change"/g)).toHaveLength(partsMax * part.length)
    expect(endOf(text)).toMatchObject([200, { kind: 'sync', audience: { key: audience.key } }])
    expect([clock.nextDueMs(), clock.holds]).toEqual([undefined, 0])
  })

  test('is disconnected after a time limit', async () => {
    const { socket, sent, clock, ended } = await stalled()
    await clock.advance(readIdleMs)
    await ended
    expect(sent).toMatchObject({ isAborted: true })
    expect(sent.parts).toBeLessThan(20)
    socket.destroy()
  })

  const plain = Buffer.alloc(60 * 64 * 1024, 'x')
  const compressed = Buffer.alloc(60 * 1024, Buffer.of(0x1f, 0x8b))

  test.each([
    ['a list', plain],
    ['a compressed list', compressed],
  ])('pauses the upload of %s until it reads the rejected rows', async (_name, list) => {
    const clock = new WatchedClock(nowMs)
    let rowsRejected = 0
    const long = { ...row, message: 'x'.repeat(5_000) }
    const { port } = await startAudiences(
      {
        sync: async ({ listener }, chunks) => {
          for await (const chunk of chunks) {
            if (chunk.length === 0) continue
            for (let each = 0; each < 100; each++) listener.rejected(long)
            rowsRejected += 100
          }
          return synced
        },
      },
      { clock },
    )
    const stalls = clock.scheduled(readIdleMs)
    const socket = await dial(port)
    socket.pause()
    socket.write(head(`Content-Length: ${list.length}`, 'Connection: close'))
    socket.write(list)
    await stalls
    await nextTurn()
    const rowsBefore = rowsRejected
    expect(rowsBefore).toBeLessThan(4_000)
    const text = await readAll(socket)
    expect(text.match(/"kind":"rejected"/g)).toHaveLength(rowsRejected)
    expect(rowsRejected).toBeGreaterThan(rowsBefore)
  })
})
