import { execFile } from 'node:child_process'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import { Archive, readArchive, type ArchivePart } from '../../src/archive/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const startedAtMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

describe('readArchive', () => {
  let directory = ''
  beforeEach(async () => {
    directory = join(await temporaryFolder(), 'archive')
    await new Archive(directory, startedAtMs).append([
      {
        messageId: 'm_1',
        type: 'track',
        sourceId: 'website',
        receivedAtMs: startedAtMs,
        timestamp: '2026-01-02T03:04:05.678Z',
        historical: false,
        userId: 'u_1',
        event: 'Order Completed',
        context: {},
        integrations: {},
      },
    ])
  })

  const dayOf = (day = '2026-01-02') => join(directory, 'website', day)

  async function put(name: string, content: string | Buffer, day?: string): Promise<string> {
    const path = join(dayOf(day), name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, content)
    return path
  }

  const row = (messageId: string, more: object = {}) =>
    `${JSON.stringify({ messageId, type: 'page', archived: { receivedAt: '2026-01-02' }, ...more })}\n`

  /** The messageIds, and the problems with their paths. */
  async function readAll(selection: Parameters<typeof readArchive>[2] = {}) {
    const parts: ArchivePart[] = []
    for await (const part of readArchive(directory, 'website', selection)) parts.push(part)
    return {
      ids: parts.flatMap(({ rows }) => rows.map(({ messageId }) => messageId)),
      problems: parts.flatMap(({ path, problems }) => problems.map((problem) => [path, problem])),
    }
  }

  test('reads whole files without problems', async () => {
    await put('b.ndjson', row('m_2'))
    expect(await readAll()).toEqual({ ids: ['m_1', 'm_2'], problems: [] })
  })

  test('reads events larger than any call, up to 1 MB', async () => {
    await put('b.ndjson', row('m_2', { properties: { text: 'x'.repeat(200_000) } }))
    await put('c.ndjson', row('m_3', { properties: { text: 'x'.repeat(2_000_000) } }))
    expect(await readAll()).toEqual({
      ids: ['m_1', 'm_2'],
      problems: [[join(dayOf(), 'c.ndjson'), 'line 1: A row must be at most 1048576 bytes']],
    })
  })

  test('reports damage, and reads the rows before it and the other files', async () => {
    const ruined = await put('3.gz', Buffer.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7))
    // The row is complete, but its gzip member is not.
    const cut = await put('4.gz', gzipSync(row('m_2')).subarray(0, -9))
    await put('5.gz', gzipSync(row('m_3')))
    const { ids, problems } = await readAll()
    expect(ids).toEqual(['m_1', 'm_2', 'm_3'])
    expect(problems).toEqual([
      [ruined, expect.stringContaining('corrupt') as string],
      [cut, expect.stringContaining('ends early') as string],
    ])
  })

  test('reports each unusable row without its content', async () => {
    const path = await put(
      'rows',
      `${row('m_2')}{"userId":"jane@example.com"\n7\n{"type":"page"}\n`,
    )
    expect(await readAll()).toEqual({
      ids: ['m_1', 'm_2'],
      problems: [
        [path, 'line 2: The row is not valid JSON'],
        [path, 'line 3: A row must be a JSON object, not a number'],
        [path, 'line 4: The row does not say when it was accepted'],
      ],
    })
  })

  test('reports unexpected entries in place of files and folders', async () => {
    await promisify(execFile)('mkfifo', [join(dayOf(), 'fifo')])
    await mkdir(join(dayOf(), 'folder'))
    await symlink(join(directory, 'nowhere'), join(dayOf(), 'link'))
    await writeFile(dayOf('2026-01-03'), 'no folder')
    const { ids, problems } = await readAll()
    expect(ids).toEqual(['m_1'])
    expect(problems).toEqual([
      [join(dayOf(), 'fifo'), 'It is not a file'],
      [join(dayOf(), 'folder'), 'It is not a file'],
      [join(dayOf(), 'link'), expect.stringContaining('ENOENT') as string],
      [dayOf('2026-01-03'), expect.stringContaining('ENOTDIR') as string],
    ])
  })

  test('returns nothing for a source without events, and reports an unreadable one', async () => {
    const parts = async (root: string) => {
      const read: ArchivePart[] = []
      for await (const part of readArchive(root, 'website', {})) read.push(part)
      return read
    }
    expect(await parts(join(directory, 'elsewhere'))).toEqual([])
    const root = await temporaryFolder()
    await writeFile(join(root, 'website'), 'no folder')
    expect(await parts(root)).toMatchObject([{ path: join(root, 'website'), rows: [] }])
  })

  test('does not read days outside the requested range', async () => {
    await put('a.gz', 'not gzip', '2026-01-01')
    expect(await readAll({ sinceMs: startedAtMs })).toEqual({ ids: ['m_1'], problems: [] })
    expect((await readAll()).problems).toHaveLength(1)
  })

  test('passes over a file that a different program removes meanwhile', async () => {
    const path = await put('b.ndjson', row('m_2'))
    const parts: ArchivePart[] = []
    for await (const part of readArchive(directory, 'website', {})) {
      parts.push(part)
      await rm(path, { force: true })
    }
    expect(parts).toMatchObject([{ rows: [{ messageId: 'm_1' }], problems: [] }])
  })

  test('follows symbolic links to files', async () => {
    const moved = join(directory, 'moved')
    await writeFile(moved, row('m_2'))
    await symlink(moved, join(dayOf(), 'link'))
    expect(await readAll()).toEqual({ ids: ['m_1', 'm_2'], problems: [] })
  })
})
