import { once } from 'node:events'
import { chmod, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { Snapshot } from '../../../src/store/sqlite/sqlite-log.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { runSource, startSource } from '../../support/run-source.ts'
import { add, newPath } from './store-calls.ts'

let path = ''
beforeEach(async () => {
  path = await newPath()
})

/** Adds deliveries in a different process, which closes everything when it ends. */
async function addElsewhere(...messageIds: readonly string[]): Promise<void> {
  await runSource(new URL('deliver-once.ts', import.meta.url), [path, ...messageIds])
}

describe.skipIf(process.platform === 'win32')('a store in a read-only folder', () => {
  /** Lets all users read the files. `closed` lets no user write to the folder, and `open` only the owner. */
  async function setFolder(mode: 'closed' | 'open'): Promise<void> {
    for (const name of await readdir(dirname(path))) await chmod(join(dirname(path), name), 0o644)
    await chmod(dirname(path), mode === 'closed' ? 0o555 : 0o755)
  }

  /** Starts a reader without write permission. `next` returns its answers, one by one. */
  function startReader(): { next: () => Promise<unknown>; again: () => void } {
    const child = startSource(new URL('read-unprivileged.ts', import.meta.url), [path])
    const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
    return {
      next: async () => JSON.parse((await lines.next()).value as string) as unknown,
      again: () => void child.kill('SIGTERM'),
    }
  }

  beforeEach(() => {
    onTestFinished(() => setFolder('open'))
  })

  test('can be read, which leaves no file behind', async () => {
    await addElsewhere('m_1', 'm_2')
    const files = await readdir(dirname(path))
    expect(files).toEqual(['store.db', 'store.db-lock'])
    await setFolder('closed')
    expect(await startReader().next()).toEqual({ pending: 2, messageIds: ['m_2', 'm_1'] })
    expect(await readdir(dirname(path))).toEqual(files)
  })

  test('can be read while a process delivers from it', async () => {
    const store = await SqliteStore.open(path)
    onTestFinished(() => store.close())
    await add(store, 'm_1')
    await setFolder('closed')
    const reader = startReader()
    expect(await reader.next()).toMatchObject({ messageIds: ['m_1'] })
    await add(store, 'm_2')
    reader.again()
    expect(await reader.next()).toMatchObject({ messageIds: ['m_2', 'm_1'] })
  })

  test('is reported as changed if a process delivers from it in between', async () => {
    await addElsewhere('m_1')
    await setFolder('closed')
    const reader = startReader()
    expect(await reader.next()).toMatchObject({ messageIds: ['m_1'] })
    await setFolder('open')
    await addElsewhere('m_2')
    reader.again()
    expect(await reader.next()).toEqual({
      code: 'store_unusable',
      message: `Cannot read the store ${path}: it changed while it was being read`,
      hint: 'Try again.',
    })
  })

  test('is reported as inaccessible if its file cannot be read', async () => {
    const store = await SqliteStore.open(path)
    onTestFinished(() => store.close())
    await add(store, 'm_1')
    await setFolder('closed')
    await chmod(path, 0o000)
    expect(await startReader().next()).toEqual({
      code: 'store_unusable',
      message: expect.stringContaining('unable to open database file') as string,
      hint: 'Check that the file and its folder exist and are accessible.',
    })
  })

  test('explains what is needed if a killed process left part of the store in its log', async () => {
    const holder = startSource(new URL('hold-store.ts', import.meta.url), [path])
    await once(holder.stdout!, 'data')
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    // Readers share this file. A copy or a backup has none.
    await rm(`${path}-shm`)
    await setFolder('closed')
    expect(await startReader().next()).toEqual({
      code: 'store_unusable',
      message: expect.stringContaining(`part of it is in ${path}-wal`) as string,
      hint: expect.stringContaining('a user who may write to that folder') as string,
    })
  })
})

describe('Snapshot', () => {
  test('notices unread rows in the log', async () => {
    await (await SqliteStore.open(path)).close()
    const snapshot = new Snapshot(path)
    const store = await SqliteStore.open(path)
    onTestFinished(() => store.close())
    snapshot.expectUnchanged()
    await add(store, 'm_2')
    expect(() => snapshot.expectUnchanged()).toThrow('it changed while it was being read')
    expect(() => new Snapshot(path)).toThrow(`${path}-wal`)
  })
})
