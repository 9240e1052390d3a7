import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { uploadIdleMs } from '../../src/admin-api/upload.ts'
import { readRows } from '../../src/importer/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { nowMs } from '../cli/deliveries/stores.ts'
import { dial, readAll, readSome, WatchedClock } from '../http/raw-client.ts'
import { gate } from '../support/gate.ts'
import {
  readWhole,
  row,
  startAudiences,
  synced,
  type KnownAudiences,
} from './recorded-audiences.ts'
import { endOf, head, syncPath, upload } from './streamed-sync.ts'
import { sendRequest } from './support.ts'

const megabyte = 1024 * 1024

/** The records of a response as they arrive. */
async function* recordsOf(body: AsyncIterable<Buffer>): AsyncGenerator<object> {
  let text = ''
  for await (const chunk of body) {
    text += chunk.toString()
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line) as object
  }
}

async function allOf<Value>(values: AsyncIterable<Value>): Promise<readonly Value[]> {
  const all: Value[] = []
  for await (const value of values) all.push(value)
  return all
}

describe('a sync over HTTP', () => {
  test('reports progress while the list is still arriving', async () => {
    const answered = gate()
    async function* list() {
      yield Buffer.from('first')
      await answered.opened
      yield Buffer.from('second')
    }
    const chunks: string[] = []
    const { url } = await startAudiences({
      sync: async ({ listener }, upload) => {
        for await (const chunk of upload) {
          chunks.push(Buffer.from(chunk).toString())
          listener.rejected({ ...row, line: chunks.length })
        }
        return synced
      },
    })
    const { statusCode, body } = await upload(url, list())
    expect([statusCode, chunks]).toEqual([200, ['first']])
    const records = recordsOf(body)
    expect((await records.next()).value).toMatchObject({ kind: 'rejected', line: 1 })
    answered.open()
    expect(await allOf(records)).toMatchObject([{ kind: 'rejected', line: 2 }, { kind: 'sync' }])
    expect(chunks).toEqual(['first', 'second'])
  })

  test('accepts 50 MB without buffering it', async () => {
    const bytes = 50 * megabyte
    const chunk = Buffer.alloc(64 * 1024, 'u_1234567890\n')
    let bytesMade = 0
    async function* list() {
      for (; bytesMade < bytes; bytesMade += chunk.length) {
        await nextTurn()
        yield chunk
      }
    }
    const used: number[] = []
    let [bytesRead, bytesAheadMax] = [0, 0]
    const { url } = await startAudiences({
      sync: async (_request, upload) => {
        for await (const part of upload) {
          bytesRead += part.length
          bytesAheadMax = Math.max(bytesAheadMax, bytesMade - bytesRead)
          // The client could send much more in the meantime.
          for (let turn = 0; turn < 3; turn++) await nextTurn()
          if (bytesRead > (used.length + 1) * 8 * megabyte) used.push(usedBytes())
        }
        return synced
      },
    })
    const { body } = await upload(url, list())
    expect(await body.text()).toContain('"outcome":"synced"')
    expect(bytesRead).toBe(bytes)
    // Bytes in transit are in buffers of the system and of the client, which is in this process.
    const inTransitMax = 16 * megabyte
    expect(bytesAheadMax).toBeLessThan(inTransitMax)
    expect(used).toHaveLength(6)
    // A service that kept what it read would have used 40 MB more at the end.
    expect(Math.max(...used) - used[0]!).toBeLessThan(inTransitMax + 8 * megabyte)
  })

  test('may end before it has read the whole list', async () => {
    const { url } = await startAudiences({
      sync: async (_request, upload) => {
        for await (const part of upload) if (part.length > 0) break
        return { ...synced, kind: 'superseded' }
      },
    })
    const answer = await sendRequest(url + syncPath, {
      method: 'POST',
      body: Buffer.alloc(4 * megabyte, 'x'),
    })
    expect(answer.text).toContain('"outcome":"superseded"')
    expect(await sendRequest(`${url}/healthz`)).toMatchObject({ status: 200 })
  })

  test('accepts an empty list', async () => {
    const lists: string[] = []
    const sync: KnownAudiences['sync'] = async (_request, list) => {
      lists.push(await readWhole(list))
      return synced
    }
    const { url } = await startAudiences({ sync })
    expect(await sendRequest(url + syncPath, { method: 'POST' })).toMatchObject({ status: 200 })
    expect(lists).toEqual([''])
  })

  test('sends 100 Continue to a client that waits for it', async () => {
    const lists: string[] = []
    const { port } = await startAudiences({
      sync: async (_request, list) => {
        lists.push(await readWhole(list))
        return synced
      },
    })
    const socket = await dial(port)
    socket.write(head('Expect: 100-continue', 'Content-Length: 4', 'Connection: close'))
    expect(await readSome(socket)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    socket.write('u_1\n')
    expect(endOf(await readAll(socket))).toMatchObject([200, { kind: 'sync' }])
    expect(lists).toEqual(['u_1\n'])
  })
})

describe('a compressed list', () => {
  const rows = Array.from({ length: 3_000 }, (_, index) => `{"userId":"u_${index}"}`)
  const compressed = gzipSync(rows.join('\n'))

  async function started() {
    const lines: number[] = []
    const pieces: number[] = []
    const admin = await startAudiences({
      sync: async (_request, list) => {
        async function* watched() {
          for await (const piece of list) {
            pieces.push(piece.length)
            yield piece
          }
        }
        for await (const group of readRows(watched())) lines.push(...group.map(({ line }) => line))
        return synced
      },
    })
    return { ...admin, lines, pieces }
  }

  test.each([
    ['without Content-Encoding', {}],
    ['with Content-Encoding', { 'content-encoding': 'gzip' }],
    ['with the older name of gzip', { 'content-encoding': 'X-GZIP' }],
  ])('%s is read', async (_name, headers) => {
    const { url, lines, pieces } = await started()
    const answer = await sendRequest(url + syncPath, { method: 'POST', body: compressed, headers })
    expect(answer).toMatchObject({ status: 200 })
    expect([lines.length, lines.at(-1)]).toEqual([3_000, 3_000])
    // A list that inflates a thousandfold must not cause many records at once.
    expect(Math.max(...pieces)).toBe(1024)
  })

  test.each(['br', 'deflate', 'gzip, gzip', 'zstd'])('in %s is refused', async (encoding) => {
    const { url, pieces } = await started()
    const headers = { 'content-encoding': encoding }
    expect(
      await sendRequest(url + syncPath, { method: 'POST', body: compressed, headers }),
    ).toMatchObject({
      status: 415,
      body: {
        error: {
          code: 'unsupported_encoding',
          message:
            'The Content-Encoding of the body is not supported: it must be gzip, or left out',
        },
      },
    })
    expect(pieces).toEqual([])
  })
})

const tooSlow = {
  code: 'body_too_slow',
  message: 'The body did not arrive in time: no data for 30 s',
}

describe('an upload that stalls', () => {
  test('is cut off, and refused if no record was sent', async () => {
    const clock = new WatchedClock(nowMs)
    const errors: unknown[] = []
    const { port, warnings } = await startAudiences(
      {
        sync: async (_request, list) => {
          await readWhole(list).catch((error: unknown) => {
            errors.push(error)
            throw error
          })
          return synced
        },
      },
      { clock },
    )
    const socket = await dial(port)
    const answer = readAll(socket)
    const waits = clock.scheduled(uploadIdleMs)
    socket.write(head('Content-Length: 100'))
    await waits
    expect(clock.holds).toBe(1)
    await clock.advance(uploadIdleMs)
    expect(endOf(await answer)).toEqual([408, { error: tooSlow }])
    expect(errors).toMatchObject([{ code: 'body_too_slow' }])
    expect([clock.nextDueMs(), clock.holds, warnings]).toEqual([undefined, 0, []])
  })

  test('is cut off halfway, whatever the sync does next', async () => {
    const clock = new WatchedClock(nowMs)
    const { port } = await startAudiences(
      {
        sync: async ({ listener }, list) => {
          listener.rejected(row)
          await readWhole(list).catch((cause: unknown) => {
            throw new Error('The list broke off', { cause })
          })
          return synced
        },
      },
      { clock },
    )
    const socket = await dial(port)
    const waits = clock.scheduled(uploadIdleMs)
    socket.write(head('Content-Length: 100'))
    await waits
    expect(await readSome(socket)).toContain('"kind":"rejected"')
    const rest = readSome(socket)
    await clock.advance(uploadIdleMs)
    expect(await rest).toContain(JSON.stringify({ v: 1, kind: 'error', ...tooSlow }))
    socket.destroy()
  })

  test('is not cut off as long as a byte arrives before the limit', async () => {
    const clock = new WatchedClock(nowMs)
    const chunks = new Set<string>()
    const { port } = await startAudiences(
      {
        sync: async (_request, list) => {
          for await (const chunk of list) chunks.add(Buffer.from(chunk).toString())
          return synced
        },
      },
      { clock },
    )
    const socket = await dial(port)
    let waits = clock.scheduled(uploadIdleMs)
    socket.write(head('Content-Length: 10', 'Connection: close'))
    for (let digit = 0; digit < 10; digit++) {
      await waits
      await clock.advance(uploadIdleMs - 1)
      waits = clock.scheduled(uploadIdleMs)
      socket.write(String(digit))
    }
    expect(endOf(await readAll(socket))).toMatchObject([200, { kind: 'sync' }])
    expect(chunks.size).toBe(10)
  })

  test('is not cut off while the sync is not reading', async () => {
    const clock = new ManualClock(nowMs)
    const [began, goesOn] = [gate(), gate()]
    const { url } = await startAudiences(
      {
        sync: async (_request, list) => {
          began.open()
          await goesOn.opened
          expect(await readWhole(list)).toBe('u_1\n')
          return synced
        },
      },
      { clock },
    )
    const answer = sendRequest(url + syncPath, { method: 'POST', body: 'u_1\n' })
    await began.opened
    expect(clock.nextDueMs()).toBeUndefined()
    await clock.advance(100 * uploadIdleMs)
    goesOn.open()
    expect(await answer).toMatchObject({ status: 200 })
  })

  test('can take longer than the deadlines for headers and requests', async () => {
    // The head of the upload has as much time, and must not take all of it on a busy machine.
    const limits = { headersTimeoutMs: 250, requestTimeoutMs: 250 }
    const sync: KnownAudiences['sync'] = async (_request, list) => {
      await readWhole(list)
      return synced
    }
    const { port } = await startAudiences({ sync }, { limits })
    const socket = await dial(port)
    const answer = readAll(socket)
    socket.write(head('Content-Length: 2', 'Connection: close') + '1')
    // The heads of these requests miss their deadline, which proves that the time has passed.
    for (let turn = 0; turn < 2; turn++) {
      const other = await dial(port)
      other.write('GET / HTTP/1.1\r\n')
      expect(await readAll(other)).toMatch(/^HTTP\/1\.1 408 /)
    }
    socket.write('2')
    expect(endOf(await answer)).toMatchObject([200, { kind: 'sync' }])
  })
})

/** Bytes in use, not counting garbage. */
function usedBytes(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}
