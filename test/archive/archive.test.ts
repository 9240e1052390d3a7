import { execFile } from 'node:child_process'
import {
  appendFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
  type FileHandle,
} from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  Archive,
  archiveIdIn,
  archiveIdOf,
  callOfArchivedRow,
  type Append,
} from '../../src/archive/index.ts'
import { openInput, readRows } from '../../src/importer/index.ts'
import type { AnalyticsEvent, JsonObject } from '../../src/model/index.ts'
import { gate } from '../support/gate.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const startedAtMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const runName = '2026-01-02T03-04-05-678Z.ndjson.gz'

function event(messageId: string, changes: Partial<AnalyticsEvent> = {}): AnalyticsEvent {
  return {
    messageId,
    type: 'track',
    sourceId: 'website',
    receivedAtMs: startedAtMs + 1_000,
    timestamp: '2026-01-02T03:04:06.678Z',
    historical: false,
    userId: 'u_1',
    event: 'Order Completed',
    properties: { total: 39.95 },
    context: { library: { name: 'example', version: '1.0.0' } },
    integrations: { Webhooks: false },
    ...changes,
  }
}

test('processes that create the id of an archive at the same time use the same one', async () => {
  const directory = join(await temporaryFolder(), 'archive')
  const ids = await Promise.all(['a', 'b', 'c', 'd'].map((id) => archiveIdOf(directory, () => id)))
  expect(new Set(ids).size).toBe(1)
  expect(await archiveIdIn(directory)).toBe(ids[0])
})

describe('Archive', () => {
  let directory = ''
  let archive: Archive
  beforeEach(async () => {
    directory = join(await temporaryFolder(), 'archive')
    archive = new Archive(directory, startedAtMs)
  })

  test.skipIf(process.platform === 'win32')('is readable by its owner only', async () => {
    await archive.append([event('m_1')])
    await archiveIdOf(directory, () => 'example')
    const names = await readdir(directory, { recursive: true })
    const modes = await Promise.all(
      names.map(async (name) => {
        const info = await stat(join(directory, name))
        return [name, info.isFile(), info.mode & 0o777] as const
      }),
    )
    expect(modes.some(([, isFile]) => isFile)).toBe(true)
    for (const [name, isFile, mode] of modes) {
      expect([name, mode]).toEqual([name, isFile ? 0o600 : 0o700])
    }
  })

  test('flushes its files to disk before their events count as archived', async () => {
    const file = await open(join(await temporaryFolder(), 'any'), 'w')
    onTestFinished(() => file.close())
    const sync = vi.spyOn(Object.getPrototypeOf(file) as FileHandle, 'sync')
    onTestFinished(() => sync.mockRestore())
    await archive.append([event('m_1'), event('m_2', { sourceId: 'app' })])
    expect(sync).toHaveBeenCalledTimes(2)
  })

  async function rowsOf(...path: readonly string[]): Promise<readonly JsonObject[]> {
    const text = gunzipSync(await readFile(join(directory, ...path))).toString('utf8')
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as JsonObject)
  }

  test('keeps an event as a call, with the time and the source', async () => {
    await archive.append([event('m_1')])
    expect(await rowsOf('website', '2026-01-02', runName)).toEqual([
      {
        messageId: 'm_1',
        type: 'track',
        timestamp: '2026-01-02T03:04:06.678Z',
        userId: 'u_1',
        event: 'Order Completed',
        properties: { total: 39.95 },
        context: { library: { name: 'example', version: '1.0.0' } },
        integrations: { Webhooks: false },
        archived: { sourceId: 'website', receivedAt: '2026-01-02T03:04:06.678Z' },
      },
    ])
  })

  test('writes one file per source and day, in order', async () => {
    const nextDay = { receivedAtMs: startedAtMs + 24 * 60 * 60 * 1_000 }
    await Promise.all([
      archive.append([event('m_1'), event('m_2', { sourceId: 'app' })]),
      archive.append([event('m_3', nextDay), event('m_4')]),
      archive.append([event('m_5')]),
    ])
    await archive.append([event('m_6')])
    const ids = (rows: readonly JsonObject[]) => rows.map(({ messageId }) => messageId)
    expect(ids(await rowsOf('website', '2026-01-02', runName))).toEqual([
      'm_1',
      'm_4',
      'm_5',
      'm_6',
    ])
    expect(ids(await rowsOf('website', '2026-01-03', runName))).toEqual(['m_3'])
    expect(ids(await rowsOf('app', '2026-01-02', runName))).toEqual(['m_2'])
  })

  test('loses nothing else if an earlier run was cut off during a write', async () => {
    await archive.append([event('m_1')])
    await appendFile(join(directory, 'website', '2026-01-02', runName), Buffer.of(0x1f, 0x8b, 8))
    await new Archive(directory, startedAtMs + 1).append([event('m_2')])
    const folder = join(directory, 'website', '2026-01-02')
    const ids: unknown[] = []
    for (const name of (await readdir(folder)).toSorted()) {
      for await (const rows of readRows(await openInput(join(folder, name), process.stdin))) {
        for (const row of rows) if (row.kind === 'row') ids.push(row.value['messageId'])
      }
    }
    expect(ids).toEqual(['m_1', 'm_2'])
  })

  test.each(['..', '.', 'a/b', 'grün ☃', '%2E'])(
    'does not treat the source %j as a path',
    async (sourceId) => {
      await archive.append([event('m_1', { sourceId })])
      const names = await readdir(directory)
      expect(names).toHaveLength(1)
      expect(decodeURIComponent(names[0] ?? '')).toBe(sourceId)
    },
  )

  test('reports when it cannot be written, and continues once it can', async () => {
    await writeFile(directory, 'in the way')
    await expect(archive.append([event('m_1')])).rejects.toMatchObject({
      code: 'cannot_write_file',
    })
    await rm(directory)
    await archive.append([event('m_2')])
    expect(await rowsOf('website', '2026-01-02', runName)).toMatchObject([{ messageId: 'm_2' }])
  })

  test('writes the events of other sources if the folder of one cannot be written', async () => {
    await mkdir(directory)
    await writeFile(join(directory, 'app'), 'in the way')
    const sourceIds = ['first', 'website', 'app', 'shop']
    const outcomes = await Promise.allSettled([
      ...sourceIds.map((sourceId) => archive.append([event('m_1', { sourceId })])),
      archive.append([event('m_2'), event('m_2', { sourceId: 'app' })]),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'rejected'],
    ])
    expect(outcomes[2]).toMatchObject({ reason: { code: 'cannot_write_file' } })
    expect(await rowsOf('shop', '2026-01-02', runName)).toMatchObject([{ messageId: 'm_1' }])
  })

  test('writes several files at once, so that many sources do not wait for each other', async () => {
    const { opened, open } = gate()
    let begun = 0
    const archive = new Archive(directory, startedAtMs, async (path, bytes) => {
      if (++begun === 2) open()
      await opened
      await appendFile(path, bytes)
    })
    await archive.append([event('m_1'), event('m_1', { sourceId: 'app' })])
    expect(await rowsOf('app', '2026-01-02', runName)).toHaveLength(1)
  })

  describe('that runs out of room during a write', () => {
    const day = '2026-01-02'
    const full = new Error('ENOSPC: no space left on device')

    /** Writes as much as there is room for. If that is not everything, runs the hook and fails. */
    function filling(
      roomBytes: number[],
      afterwards: () => Promise<void> = async () => {},
    ): Append {
      return async (path, bytes) => {
        const room = roomBytes.shift() ?? Infinity
        await appendFile(path, bytes.subarray(0, room))
        if (room >= bytes.length) return
        await afterwards()
        throw full
      }
    }

    const messageIds = async () =>
      (await rowsOf('website', day, runName)).map(({ messageId }) => messageId)

    test.each([0, 1, 12, 60])(
      'continues after the last complete write if %i bytes of the next fit',
      async (room) => {
        const archive = new Archive(directory, startedAtMs, filling([Infinity, room, room]))
        await archive.append([event('m_1')])
        for (const messageId of ['m_2', 'm_3']) {
          await expect(archive.append([event(messageId)])).rejects.toMatchObject({
            code: 'cannot_write_file',
            message: expect.stringContaining('ENOSPC') as unknown,
          })
        }
        await archive.append([event('m_4')])
        await archive.append([event('m_5')])
        expect(await messageIds()).toEqual(['m_1', 'm_4', 'm_5'])
      },
    )

    test('leaves nothing of the write, even if no write follows', async () => {
      const archive = new Archive(directory, startedAtMs, filling([Infinity, 40]))
      await archive.append([event('m_1')])
      const whole = await readFile(join(directory, 'website', day, runName))
      await expect(archive.append([event('m_2')])).rejects.toThrow('ENOSPC')
      expect(await readFile(join(directory, 'website', day, runName))).toEqual(whole)
    })

    test('writes nothing more until the partial write is removed', async () => {
      const path = join(directory, 'website', day, runName)
      const inTheWay = async () => {
        await rename(path, `${path}.aside`)
        await mkdir(path)
      }
      const archive = new Archive(directory, startedAtMs, filling([Infinity, 40], inTheWay))
      await archive.append([event('m_1')])
      await expect(archive.append([event('m_2')])).rejects.toThrow('ENOSPC')
      await expect(archive.append([event('m_3')])).rejects.toThrow('it is not a file')
      await rm(path, { recursive: true })
      await rename(`${path}.aside`, path)
      await archive.append([event('m_4')])
      expect(await messageIds()).toEqual(['m_1', 'm_4'])
    })

    test('starts a new file if the old one has been removed', async () => {
      const path = join(directory, 'website', day, runName)
      const archive = new Archive(
        directory,
        startedAtMs,
        filling([Infinity, 40], () => rm(path)),
      )
      await archive.append([event('m_1')])
      await expect(archive.append([event('m_2')])).rejects.toThrow('ENOSPC')
      await archive.append([event('m_3')])
      expect(await messageIds()).toEqual(['m_3'])
    })
  })

  test('does not wait for a reader of a named pipe', async () => {
    const folder = join(directory, 'website', '2026-01-02')
    await mkdir(folder, { recursive: true })
    await promisify(execFile)('mkfifo', [join(folder, runName)])
    await expect(archive.append([event('m_1')])).rejects.toThrow('it is not a file')
  })

  test('drops a write that is cancelled before its turn', async () => {
    const { opened, open } = gate()
    const stalled = new Archive(directory, startedAtMs, async (path, bytes) => {
      await opened
      await appendFile(path, bytes)
    })
    const leave = new AbortController()
    const reason = new Error('It takes too long')
    const given = ['m_1', 'm_2'].map((id) => stalled.append([event(id)], leave.signal))
    const last = stalled.append([event('m_3')])
    leave.abort(reason)
    for (const append of given) await expect(append).rejects.toBe(reason)
    open()
    await last
    // The first was already being written.
    expect(await rowsOf('website', '2026-01-02', runName)).toMatchObject([
      { messageId: 'm_1' },
      { messageId: 'm_3' },
    ])
  })

  test('writes nothing for an empty batch', async () => {
    await archive.append([])
    await expect(readdir(directory)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('callOfArchivedRow', () => {
  test('sends a row of an archive to webhooks and nowhere else', () => {
    const row = { type: 'track', integrations: { Webhooks: false }, archived: { sourceId: 'app' } }
    expect(callOfArchivedRow(row)).toEqual({
      type: 'track',
      integrations: { All: false, Webhooks: true },
    })
  })

  test('leaves any other row unchanged', () => {
    const row = { type: 'track', integrations: { Webhooks: false } }
    expect(callOfArchivedRow(row)).toBe(row)
  })
})
