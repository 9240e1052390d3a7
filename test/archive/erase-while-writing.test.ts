import { getEventListeners } from 'node:events'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Archive, isAboutUsers, type Append } from '../../src/archive/index.ts'
import type { AnalyticsEvent } from '../../src/model/index.ts'
import { gate } from '../support/gate.ts'
import { line, makeArchive, members, untilMs } from './support.ts'

const day = '2026-01-02'
const runName = '2026-01-02T10-00-00-000Z'
const startedAtMs = Date.UTC(2026, 0, 2, 10)

function event(messageId: string, userId: string, changes: Partial<AnalyticsEvent> = {}) {
  return {
    messageId,
    type: 'track',
    sourceId: 'website',
    receivedAtMs: untilMs,
    timestamp: '2026-01-02T12:00:00.000Z',
    historical: false,
    userId,
    event: 'Order Completed',
    context: {},
    integrations: {},
    ...changes,
  } satisfies AnalyticsEvent
}

async function makeWriter(append?: Append) {
  const files = await makeArchive()
  const archive = new Archive(files.directory, startedAtMs, append)
  return {
    ...files,
    append: (...events: readonly AnalyticsEvent[]) => archive.append(events),
    eraseMeanwhile: (signal = new AbortController().signal) =>
      archive.erase({ sourceId: 'website', isErased: isAboutUsers(['u_1'], untilMs), signal }),
    days: async () => readdir(files.path(day)),
  }
}

describe('an archive during writes', () => {
  test('leaves no listener on the signal, which may serve many erasures', async () => {
    const { append, eraseMeanwhile, put } = await makeWriter()
    await put(`2026-01-01/a.gz`, members(line('m_1', 'u_1')))
    await append(event('m_2', 'u_1'), event('m_3', 'u_2'))
    const { signal } = new AbortController()
    expect(await eraseMeanwhile(signal)).toMatchObject({ events: 2 })
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('loses no event while it is erased, and has none of the user afterwards', async () => {
    const { append, eraseMeanwhile, read, text, put } = await makeWriter()
    const late = { receivedAtMs: untilMs + 1 }
    const lastYear = { receivedAtMs: untilMs - 365 * 24 * 60 * 60 * 1_000 }
    const expected: string[] = []
    const afterwards = new Set<unknown>()
    let count = 0
    let isErasing = true
    const appendSome = async (): Promise<void> => {
      const ids = Array.from({ length: 5 }, () => `m_${++count}`)
      await append(
        event(`${ids[0]}`, 'u_2'),
        event(`${ids[1]}`, 'u_1'),
        event(`${ids[2]}`, 'u_1', late),
        event(`${ids[3]}`, 'u_2', lastYear),
        event(`${ids[4]}`, 'u_1', { sourceId: 'app' }),
      )
      expected.push(`${ids[0]}`, `${ids[2]}`, `${ids[3]}`)
      // An erasure does not cover later writes.
      if (!isErasing) afterwards.add(ids[1])
    }
    for (let n = 0; n < 20; n++) await appendSome()
    await put(`${day}/2026-01-01T00-00-00-000Z.ndjson.gz`, '')
    const appending = [1, 2, 3].map(async () => {
      while (isErasing) await appendSome()
    })
    const { events, problems } = await eraseMeanwhile()
    isErasing = false
    await Promise.all(appending)
    await appendSome()

    const { ids, problems: unreadable } = await read()
    expect(ids.filter((id) => !afterwards.has(id)).toSorted()).toEqual(expected.toSorted())
    expect([problems, unreadable]).toEqual([[], []])
    expect(events).toBeGreaterThanOrEqual(20)
    expect((await text()).match(/m_\d+/g)).toHaveLength(ids.length)
  })

  test('continues in a new file after an erasure changed the first', async () => {
    const { append, eraseMeanwhile, read, days } = await makeWriter()
    await append(event('m_1', 'u_1'), event('m_2', 'u_2'))
    expect(await eraseMeanwhile()).toEqual({ events: 1, files: 1, problems: [] })
    await append(event('m_3', 'u_2'))
    await append(event('m_4', 'u_2'))
    expect(await days()).toEqual([`${runName}.ndjson.gz`, `${runName}_0001.ndjson.gz`])
    expect((await read()).ids).toEqual(['m_2', 'm_3', 'm_4'])
  })

  test('continues in the same file if there is nothing to erase', async () => {
    const { append, eraseMeanwhile, days } = await makeWriter()
    await append(event('m_1', 'u_2'))
    expect(await eraseMeanwhile()).toEqual({ events: 0, files: 0, problems: [] })
    await append(event('m_2', 'u_2'))
    expect(await days()).toEqual([`${runName}.ndjson.gz`])
  })

  test('erases events that are being written or waiting to be written', async () => {
    const { opened, open } = gate()
    const { append, eraseMeanwhile, read } = await makeWriter(async (path, bytes) => {
      await opened
      await appendFile(path, bytes)
    })
    const appended = [append(event('m_1', 'u_1')), append(event('m_2', 'u_1'), event('m_3', 'u_2'))]
    const erasing = eraseMeanwhile()
    open()
    await Promise.all(appended)
    expect(await erasing).toEqual({ events: 2, files: 1, problems: [] })
    expect((await read()).ids).toEqual(['m_3'])
  })

  test('recreates its folder if an erasure removes it during a write', async () => {
    const { opened, open } = gate()
    const files = await makeArchive()
    const old = await files.put(`${day}/old.gz`, members(line('m_1', 'u_1')))
    const archive = new Archive(files.directory, startedAtMs, async (path, bytes) => {
      await opened
      await appendFile(path, bytes)
    })
    let appended: Promise<void> | undefined
    const erasing = archive.erase({
      sourceId: 'website',
      isErased: ({ userId }) => {
        appended ??= archive.append([event('m_2', 'u_2')])
        return userId === 'u_1'
      },
      signal: new AbortController().signal,
    })
    while (existsSync(old)) await nextTurn()
    for (let turn = 0; turn < 1_000 && existsSync(files.path(day)); turn++) await nextTurn()
    open()
    await appended
    expect(await erasing).toMatchObject({ files: 1, problems: [] })
    expect(existsSync(files.path(day))).toBe(true)
  })

  test('does not mistake an unfinished write for damage', async () => {
    const { opened, open } = gate()
    const { opened: begun, open: begin } = gate()
    let writes = 0
    const { append, eraseMeanwhile } = await makeWriter(async (path, bytes) => {
      if (++writes === 1) return appendFile(path, bytes)
      await appendFile(path, bytes.subarray(0, 30))
      begin()
      await opened
      await appendFile(path, bytes.subarray(30))
    })
    await append(event('m_1', 'u_2'))
    const erasing = eraseMeanwhile()
    const appended = append(event('m_2', 'u_2'))
    await begun
    expect(await erasing).toEqual({ events: 0, files: 0, problems: [] })
    open()
    await appended
  })

  test('removes a partial write before it writes again', async () => {
    const path: string[] = []
    let writes = 0
    const { append, eraseMeanwhile, read } = await makeWriter(async (file, bytes) => {
      if (++writes !== 2) return appendFile(file, bytes)
      await appendFile(file, bytes.subarray(0, 40))
      path.push(file)
      // So that the partial write cannot be removed at once.
      await rename(file, `${file}.aside`)
      await mkdir(file)
      throw new Error('ENOSPC: no space left on device')
    })
    await append(event('m_1', 'u_1'), event('m_2', 'u_2'))
    await expect(append(event('m_3', 'u_2'))).rejects.toThrow('ENOSPC')
    const [file = ''] = path
    await rm(file, { recursive: true })
    await rename(`${file}.aside`, file)
    expect(await eraseMeanwhile()).toEqual({ events: 1, files: 1, problems: [] })
    await append(event('m_4', 'u_2'))
    expect(await read()).toEqual({ ids: ['m_2', 'm_4'], problems: [] })
  })

  test('does not delay an interrupted erasure, even if its disk hangs', async () => {
    const { opened, open } = gate()
    const { append, eraseMeanwhile } = await makeWriter(async (path, bytes) => {
      await opened
      await appendFile(path, bytes)
    })
    const appended = append(event('m_1', 'u_1'))
    const ending = new AbortController()
    const erasing = eraseMeanwhile(ending.signal)
    const reason = new Error('It is closing')
    ending.abort(reason)
    await expect(erasing).rejects.toBe(reason)
    open()
    await appended
    await expect(eraseMeanwhile(ending.signal)).rejects.toBe(reason)
    expect(await eraseMeanwhile()).toMatchObject({ events: 1 })
  })

  test('holds back no writes once the erasure is over', async () => {
    const { append, eraseMeanwhile, path, read } = await makeWriter()
    await append(event('m_1', 'u_1'))
    await eraseMeanwhile()
    await expect(readdir(path(day))).rejects.toMatchObject({ code: 'ENOENT' })
    await append(event('m_2', 'u_1'))
    expect((await read()).ids).toEqual(['m_2'])
    expect(await readdir(join(path(day)))).toEqual([`${runName}_0001.ndjson.gz`])
  })
})
