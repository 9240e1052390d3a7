import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { systemFileChanges, type FileChanges } from '../../src/archive/erase-from-file.ts'
import { emptyMember, line, makeArchive, members, textOf } from './support.ts'

/** Changes files like a process that dies at a step: half of the step is done if that is possible. */
function dyingAt(step: number) {
  const steps: string[] = []
  async function change<Value>(
    name: string,
    real: () => Promise<Value>,
    half?: () => Promise<unknown>,
  ): Promise<Value> {
    steps.push(name)
    if (steps.length < step) return real()
    if (steps.length === step) await half?.()
    throw new Error('The process is gone')
  }
  type Handle = Awaited<ReturnType<FileChanges['open']>>
  const handleOf = (handle: Handle): Handle =>
    ({
      appendFile: (bytes: Buffer) =>
        change(
          'write',
          () => handle.appendFile(bytes),
          () => handle.appendFile(bytes.subarray(0, bytes.length / 2)),
        ),
      chown: (uid: number, gid: number) => change('chown', () => handle.chown(uid, gid)),
      chmod: (mode: number) => change('chmod', () => handle.chmod(mode)),
      utimes: (atime: Date, mtime: Date) => change('utimes', () => handle.utimes(atime, mtime)),
      sync: () => change('sync', () => handle.sync()),
      close: async () => {
        // The system closes the files of a dead process, too.
        await handle.close()
        await change('close', () => Promise.resolve())
      },
    }) as Handle
  const files = {
    open: async (path: string, flags: string) =>
      handleOf(await change('open', () => systemFileChanges.open(path, flags))),
    rename: (from: string, to: string) =>
      change('rename', () => systemFileChanges.rename(from, to)),
    unlink: (path: string) => change('unlink', () => systemFileChanges.unlink(path)),
    rmdir: (path: string) => change('rmdir', () => systemFileChanges.rmdir(path)),
  } as FileChanges
  return { files, steps }
}

const whole = line('m_1', 'u_1') + line('m_2', 'u_2')
const damage = Buffer.from('no gzip')

/** A file to rewrite, a damaged file, and a file to remove with its day. */
async function makeFiles() {
  const archive = await makeArchive()
  return {
    archive,
    first: await archive.put('2026-01-01/a.gz', members(whole)),
    damaged: await archive.put(
      '2026-01-02/a.gz',
      Buffer.concat([members(whole), emptyMember(), damage]),
    ),
    last: await archive.put('2026-01-03/a.gz', members(line('m_3', 'u_1'))),
  }
}

/** The steps of an uninterrupted erasure. */
async function allSteps(): Promise<readonly string[]> {
  const { archive } = await makeFiles()
  const { files, steps } = dyingAt(Infinity)
  await archive.erase(['u_1'], { files })
  return steps
}

describe('an erasure', () => {
  test('flushes the new file to disk before it replaces the old one', async () => {
    const steps = (await allSteps()).filter((step) => step !== 'write')
    const written = ['open', 'chown', 'chmod', 'utimes', 'sync', 'close']
    const folder = ['open', 'sync', 'close']
    const kept = ['open', 'chown', 'chmod', 'sync', 'close']
    expect(steps).toEqual([
      ...[...written, 'rename', ...folder],
      ...[...written, ...kept, 'rename', ...folder],
      ...[...written, 'unlink', 'unlink', ...folder, 'rmdir', ...folder],
    ])
  })

  test('interrupted at any step, leaves each file old or new, and the next erasure completes it', async () => {
    const { length: steps } = await allSteps()
    const ended = new Set<string>()
    for (let step = 1; step <= steps; step++) {
      const { archive, first, damaged, last } = await makeFiles()
      await archive.erase(['u_1'], { files: dyingAt(step).files })
      const texts = await Promise.all(
        [first, damaged, last].map((path) => textOf(path).catch(() => 'none')),
      )
      const kept = line('m_2', 'u_2')
      expect([whole, kept]).toContain(texts[0])
      expect([whole, kept]).toContain(texts[1])
      expect([line('m_3', 'u_1'), 'none']).toContain(texts[2])
      ended.add(texts.map((text) => (text.includes('u_1') ? 'old' : 'new')).join())
      const { ids } = await archive.read()
      expect(ids.filter((id) => id === 'm_2')).toHaveLength(2)

      await archive.erase()
      expect(await archive.text()).toBe(kept.repeat(2))
      const names = await archive.names()
      expect(names.map((name) => name.replace(/\d+$/, ''))).toEqual([
        '2026-01-',
        '2026-01-01/a.gz',
        '2026-01-',
        '2026-01-02/a.gz',
        '2026-01-02/a.gz.damaged-',
      ])
      const beside = await readFile(archive.path(names.at(-1) ?? ''))
      expect(beside.subarray(-damage.length).equals(damage)).toBe(true)
    }
    expect([...ended].toSorted()).toEqual([
      'new,new,new',
      'new,new,old',
      'new,old,old',
      'old,old,old',
    ])
  })
})
