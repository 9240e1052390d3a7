import { execFile } from 'node:child_process'
import {
  appendFile,
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { isAboutUsers } from '../../src/archive/index.ts'
import { readArchiveText } from '../../src/archive/archive-text.ts'
import { problemsMax } from '../../src/archive/erase-from-archive.ts'
import { systemFileChanges } from '../../src/archive/erase-from-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { emptyMember, line, makeArchive, members, textOf, untilMs } from './support.ts'

describe('isAboutUsers', () => {
  const archived = { receivedAt: '2026-01-02T12:00:00.000Z' }
  test.each([
    ['their userId', { type: 'track', userId: 'u_1', archived }, true],
    ['a different userId', { type: 'track', userId: 'u_3', archived }, false],
    ['an anonymousId that equals a userId', { type: 'track', anonymousId: 'u_1', archived }, false],
    ['the userId of an alias', { type: 'alias', userId: 'u_1', previousId: 'a', archived }, true],
    [
      'the previousId of an alias',
      { type: 'alias', userId: 'a', previousId: 'u_2', archived },
      true,
    ],
    [
      'the previousId of a different type',
      { type: 'track', userId: 'a', previousId: 'u_2', archived },
      false,
    ],
    [
      'their userId, accepted too late',
      { type: 'track', userId: 'u_1', archived: { receivedAt: '2026-01-02T12:00:00.001Z' } },
      false,
    ],
    ['their userId, without a time', { type: 'track', userId: 'u_1', archived: {} }, false],
  ])('recognises events about the users: %s', (_, row, isAbout) => {
    expect(isAboutUsers(['u_1', 'u_2'], untilMs)(row)).toBe(isAbout)
  })
})

describe('eraseFromArchive', () => {
  test('removes events from any gzip member, and leaves other lines unchanged', async () => {
    const archive = await makeArchive()
    const spaced = line('m_4', 'u_2').replace('{', '{ ')
    const path = await archive.put(
      '2026-01-02/a.gz',
      members(line('m_1', 'u_2') + line('m_2', 'u_1'), line('m_3', 'u_1'), `${spaced}\n\r\n`),
    )
    await chmod(path, 0o640)
    await utimes(path, 1_000_000, 2_000_000)
    expect(await archive.erase()).toEqual({ events: 2, files: 1, problems: [] })
    const kept = gunzipSync(await readFile(path)).toString('utf8')
    expect(kept).toBe(`${line('m_1', 'u_2')}${spaced}\n\r\n`)
    const { mode, mtimeMs } = await stat(path)
    expect([mode & 0o777, mtimeMs]).toEqual([0o640, 2_000_000_000])
    expect(await archive.names()).toEqual(['2026-01-02', '2026-01-02/a.gz'])
  })

  test('searches all days and runs of the source, and no other source', async () => {
    const archive = await makeArchive()
    const both = members(line('m_1', 'u_1') + line('m_2', 'u_2'))
    const names = ['2025-01-01/a.gz', '2026-01-02/a.gz', '2026-01-02/b.gz', 'moved/c.gz']
    for (const name of names) await archive.put(name, both)
    const other = join(archive.directory, 'app')
    await mkdir(other)
    await writeFile(join(other, 'a.gz'), both)
    expect(await archive.erase()).toEqual({ events: 4, files: 4, problems: [] })
    expect(await archive.text()).toBe(line('m_2', 'u_2').repeat(4))
    expect(await readFile(join(other, 'a.gz'))).toEqual(both)
    expect(await archive.erase()).toEqual({ events: 0, files: 0, problems: [] })
    expect(await archive.erase(['u_2'], { sourceId: 'shop' })).toMatchObject({ files: 0 })
  })

  test('does not touch files without such events', async () => {
    const archive = await makeArchive()
    const path = await archive.put('2026-01-02/a.gz', members(line('m_1', 'u_2')))
    const before = await stat(path)
    await archive.erase()
    const after = await stat(path)
    expect([after.ino, after.ctimeMs]).toEqual([before.ino, before.ctimeMs])
  })

  test('removes a file that would be empty, and a day without files', async () => {
    const archive = await makeArchive()
    const all = members(line('m_1', 'u_1'), `\n${line('m_2', 'u_1')}`)
    await archive.put('2026-01-01/a.gz', all)
    await archive.put('2026-01-02/a.gz', all)
    await archive.put('2026-01-02/b.gz', members(line('m_3', 'u_2')))
    await mkdir(archive.path('2026-01-03'))
    expect(await archive.erase()).toEqual({ events: 4, files: 2, problems: [] })
    expect(await archive.names()).toEqual(['2026-01-02', '2026-01-02/b.gz'])
  })

  test('does not compress an uncompressed file', async () => {
    const archive = await makeArchive()
    const path = await archive.put(
      '2026-01-02/rows.ndjson',
      line('m_1', 'u_1') + line('m_2', 'u_2').trimEnd(),
    )
    await archive.erase()
    expect(await readFile(path, 'utf8')).toBe(line('m_2', 'u_2').trimEnd())
  })

  test('removes many users from a file at once', async () => {
    const archive = await makeArchive()
    const lines = Array.from({ length: 6_000 }, (_, n) => line(`m_${n}`, `user-${n}`))
    const path = await archive.put('2026-01-02/a.gz', members(lines.join('')))
    const userIds = Array.from({ length: 5_000 }, (_, n) => `user-${n}`)
    expect(await archive.erase(userIds)).toEqual({ events: 5_000, files: 1, problems: [] })
    expect(await textOf(path)).toBe(lines.slice(5_000).join(''))
  })

  test('stops when its signal aborts, and reports what was done so far', async () => {
    const archive = await makeArchive()
    const content = members(line('m_1', 'u_1') + line('m_2', 'u_2'))
    const first = await archive.put('2026-01-01/a.gz', content)
    const second = await archive.put('2026-01-02/a.gz', content)
    const ending = new AbortController()
    const reason = new Error('It is closing')
    const files = {
      ...systemFileChanges,
      rename: async (from: string, to: string) => {
        await systemFileChanges.rename(from, to)
        ending.abort(reason)
      },
    }
    const { signal } = ending
    await expect(archive.erase(['u_1'], { signal, files } as object)).rejects.toBe(reason)
    expect(await textOf(first)).toBe(line('m_2', 'u_2'))
    expect(await readFile(second)).toEqual(content)
    expect(await readdir(archive.path('2026-01-02'))).toEqual(['a.gz'])
  })

  test('stops in the middle of a file that it only reads', async () => {
    const archive = await makeArchive()
    const lines = Array.from({ length: 5_000 }, (_, n) => line(`m_${n}`, 'u_2'))
    await archive.put('2026-01-02/a.gz', members(lines.join('')))
    const ending = new AbortController()
    let looks = 0
    const isErased = (): boolean => {
      if (looks++ === 0) ending.abort(new Error('It is closing'))
      return false
    }
    const erasing = archive.erase([], { signal: ending.signal, isErased })
    await expect(erasing).rejects.toThrow('It is closing')
    expect(looks).toBeLessThan(lines.length)
  })

  test('reads a long line in pieces of about 1 MB', async () => {
    const archive = await makeArchive()
    const text = `${'x'.repeat(5_000_000)}\n${line('m_1', 'u_1')}`
    const path = await archive.put('2026-01-02/a.gz', members(text))
    const texts: Buffer[] = []
    for await (const part of readArchiveText(path)) {
      if (part.kind === 'pieces') texts.push(...part.pieces.map(({ bytes }) => bytes))
    }
    expect(Buffer.concat(texts).toString()).toBe(text)
    expect(Math.max(...texts.map(({ length }) => length))).toBeLessThan(1_200_000)
  })

  describe('with unreadable files', () => {
    test('keeps the text of a file that was cut off, and reports it', async () => {
      const archive = await makeArchive()
      const whole = members(line('m_1', 'u_1'), line('m_2', 'u_2'))
      const last = members(line('m_3', 'u_2') + line('m_4', 'u_1') + line('m_5', 'u_2'))
      const path = await archive.put(
        '2026-01-02/a.gz',
        Buffer.concat([whole, last.subarray(0, -12)]),
      )
      const readable = await textOf(path)
      expect(readable).toContain('m_4')
      const { events, files, problems } = await archive.erase()
      expect([events, files]).toEqual([2, 1])
      expect(problems).toEqual([`${path}: The compressed data ends early`])
      const kept = readable.replace(line('m_1', 'u_1'), '').replace(line('m_4', 'u_1'), '')
      expect(await textOf(path)).toBe(kept)
      expect(await archive.text()).not.toContain('u_1')
      expect((await archive.read()).ids).toEqual(['m_2', 'm_3'])
      expect(await readdir(archive.path('2026-01-02'))).toEqual(['a.gz'])
    })

    test('moves data after the damage to a separate file, where no reader takes it for rows', async () => {
      const archive = await makeArchive()
      const whole = members(line('m_1', 'u_1'), line('m_2', 'u_2').repeat(200))
      const behind = Buffer.concat([
        Buffer.from('no gzip '),
        Buffer.from(line('m_3', 'u_2')),
        members(line('m_4', 'u_2')),
      ])
      const content = Buffer.concat([whole, emptyMember(), behind])
      const path = await archive.put('2026-01-02/a.gz', content)
      await chmod(path, 0o600)
      const { ids } = await archive.read()
      expect(ids).toContain('m_1')
      const { events, files, problems } = await archive.erase()
      expect([events, files]).toEqual([1, 1])
      expect(problems).toEqual([expect.stringMatching(/a\.gz: The compressed data is corrupt/)])
      const [, beside = ''] = await readdir(archive.path('2026-01-02'))
      expect(beside).toMatch(/^a\.gz\.damaged-\d+$/)
      const kept = await readFile(archive.path(`2026-01-02/${beside}`))
      expect(kept.subarray(-behind.length).equals(behind)).toBe(true)
      expect((await stat(archive.path(`2026-01-02/${beside}`))).mode & 0o777).toBe(0o600)
      const after = await archive.read()
      expect(after.ids).toEqual(ids.filter((id) => id !== 'm_1'))
      expect(after.problems).toEqual([expect.stringContaining('corrupt') as string])
      expect(await archive.erase()).toMatchObject({
        files: 0,
        problems: [expect.stringContaining(beside) as string],
      })
      expect(await readFile(path)).not.toHaveLength(0)
    })

    test('leaves a damaged file without such events as it is', async () => {
      const archive = await makeArchive()
      const content = Buffer.concat([members(line('m_1', 'u_2')), Buffer.of(0x1f, 0x8b, 8)])
      const path = await archive.put('2026-01-02/a.gz', content)
      expect(await archive.erase()).toEqual({
        events: 0,
        files: 0,
        problems: [`${path}: The compressed data ends early`],
      })
      expect(await readFile(path)).toEqual(content)
    })

    test('keeps lines that are not events, and reveals nothing of their content', async () => {
      const archive = await makeArchive()
      const lines = [
        '{"userId":"u_1","email":"jane@exa',
        '["u_1"]',
        '{"userId":"u_1"}',
        JSON.stringify({ text: 'x'.repeat(3_000_000) }),
      ].join('\n')
      const path = await archive.put(
        '2026-01-02/a.gz',
        members(`${line('m_1', 'u_1')}${lines}\n${line('m_2', 'u_2')}`),
      )
      const only = await archive.put('2026-01-02/b.gz', members(`7\n${line('m_1', 'u_1')}`))
      expect(await archive.erase()).toEqual({
        events: 2,
        files: 2,
        problems: [
          `${path}: line 2: The row is not valid JSON; and 3 more`,
          `${only}: line 1: A row must be a JSON object, not a number`,
        ],
      })
      expect(await textOf(path)).toBe(`${lines}\n${line('m_2', 'u_2')}`)
      expect(await textOf(only)).toBe('7\n')
    })

    test('reports unexpected entries in place of files and folders', async () => {
      const archive = await makeArchive()
      const path = await archive.put('2026-01-02/a.gz', members(line('m_1', 'u_1')))
      const day = archive.path('2026-01-02')
      await promisify(execFile)('mkfifo', [join(day, 'fifo')])
      await mkdir(join(day, 'folder'))
      await symlink(join(day, 'nowhere'), join(day, 'link'))
      await writeFile(archive.path('2026-01-03'), 'no folder')
      const { problems, ...counts } = await archive.erase()
      expect(counts).toEqual({ events: 1, files: 1 })
      expect(problems).toEqual([
        `${join(day, 'fifo')}: It is not a file`,
        `${join(day, 'folder')}: It is not a file`,
        expect.stringContaining('ENOENT') as string,
        expect.stringContaining('ENOTDIR') as string,
      ])
      await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
    })

    test('names a limited number of files, and counts the rest', async () => {
      const archive = await makeArchive()
      for (let n = 0; n < problemsMax + 2; n++) await archive.put(`2026-01-02/${n}`, '7')
      const { problems } = await archive.erase()
      expect(problems).toHaveLength(problemsMax + 1)
      expect(problems.at(-1)).toBe('and 2 more files')
    })

    test('skips a file that another process is writing to', async () => {
      const archive = await makeArchive()
      const content = members(line('m_1', 'u_1') + line('m_2', 'u_2'))
      const path = await archive.put('2026-01-02/a.gz', content)
      const more = members(line('m_3', 'u_2'))
      const open: typeof systemFileChanges.open = async (...given) => {
        await appendFile(path, more)
        return systemFileChanges.open(...given)
      }
      const files = { ...systemFileChanges, open }
      const { problems } = await archive.erase(['u_1'], { files })
      expect(problems).toEqual([
        `${path}: The file changed during the erasure, so nothing was erased from it`,
      ])
      expect(await readFile(path)).toEqual(Buffer.concat([content, more]))
      expect(await readdir(archive.path('2026-01-02'))).toEqual(['a.gz'])
    })
  })

  test('passes over files and days that a different program removes meanwhile', async () => {
    const archive = await makeArchive()
    for (const path of ['01/a', '01/b', '01/c', '02/a'])
      await archive.put(`2026-01-${path}`, line('m_1', 'u_1') + line('m_2', 'u_2'))
    await archive.put('2026-01-03/a', line('m_1', 'u_1'))
    const open: typeof systemFileChanges.open = async (path, ...given) => {
      const name = String(path)
      if (name.endsWith('01/a.erasing')) await rm(archive.path('2026-01-01/b'))
      if (name.endsWith('01/c.erasing')) await rm(archive.path('2026-01-01/c'))
      return systemFileChanges.open(path, ...given)
    }
    const rmdir: typeof systemFileChanges.rmdir = async (path) => {
      await rm(path, { recursive: true })
      return systemFileChanges.rmdir(path)
    }
    const files = { ...systemFileChanges, open, rmdir }
    expect(await archive.erase(['u_1'], { files })).toMatchObject({ files: 3, problems: [] })
    expect(await archive.names()).toEqual([
      ...['2026-01-01', '2026-01-01/a', '2026-01-02', '2026-01-02/a'],
    ])
  })

  test.skipIf(process.getuid?.() !== 0)('leaves a file to its owner if root erases', async () => {
    const archive = await makeArchive()
    const path = await archive.put('2026-01-02/a', line('m_1', 'u_1') + line('m_2', 'u_2'))
    await chown(path, 1, 2)
    await archive.erase()
    expect(await stat(path)).toMatchObject({ uid: 1, gid: 2 })
  })

  test('follows symbolic links to files, and keeps the links', async () => {
    const archive = await makeArchive()
    const elsewhere = await temporaryFolder()
    const day = archive.path('2026-01-02')
    await mkdir(day, { recursive: true })
    await writeFile(join(elsewhere, 'a'), line('m_1', 'u_1') + line('m_2', 'u_2'))
    await writeFile(join(elsewhere, 'b'), line('m_3', 'u_1'))
    for (const name of ['a', 'b']) await symlink(join(elsewhere, name), join(day, name))
    expect(await archive.erase()).toEqual({ events: 2, files: 2, problems: [] })
    expect((await lstat(join(day, 'a'))).isSymbolicLink()).toBe(true)
    expect(await readFile(join(elsewhere, 'a'), 'utf8')).toBe(line('m_2', 'u_2'))
    expect([await readdir(day), await readdir(elsewhere)]).toEqual([['a'], ['a']])
  })

  test('removes the leftovers of an interrupted erasure', async () => {
    const archive = await makeArchive()
    await archive.put('2026-01-02/a.gz', members(line('m_1', 'u_2')))
    await archive.put('2026-01-02/a.gz.erasing', line('m_1', 'u_2'))
    await archive.put('2026-01-03/a.gz.erasing', members(line('m_2', 'u_1')).subarray(0, 20))
    await archive.put('2026-01-04/a.gz', members(line('m_3', 'u_1'), line('m_4', 'u_2')))
    await archive.put('2026-01-04/a.gz.erasing', line('m_4', 'u_2'))
    expect(await archive.read()).toEqual({ ids: ['m_1', 'm_3', 'm_4'], problems: [] })
    expect(await archive.erase()).toEqual({ events: 1, files: 1, problems: [] })
    const days = ['2026-01-02', '2026-01-02/a.gz', '2026-01-04', '2026-01-04/a.gz']
    expect(await archive.names()).toEqual(days)
  })
})
