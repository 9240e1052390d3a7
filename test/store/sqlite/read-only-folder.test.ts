import { chmod, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
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

  test('cannot be read while no process delivers from it', async () => {
    await addElsewhere('m_1')
    const files = await readdir(dirname(path))
    await setFolder('closed')
    expect(await startReader().next()).toEqual({
      code: 'store_unusable',
      message: expect.stringContaining(`Cannot use the store ${path}: `) as string,
      hint: expect.stringContaining('its folder') as string,
    })
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
})
