import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDeliveryLog, openStore } from '../../src/store/index.ts'
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** URLs that name no file, each with the reason and the hint. */
const noFiles: readonly (readonly [string, string, string])[] = [
  ['', 'sqlite:<file>', 'Write it as sqlite:./evroute.db.'],
  ['store.db', 'sqlite:<file>', 'Write it as sqlite:store.db.'],
  ['C:\\data\\store.db', 'sqlite:<file>', 'Write it as sqlite:C:\\data\\store.db.'],
  ['mysql://db.example.com/', 'sqlite:<file>', 'Write it as sqlite:./evroute.db.'],
  ['sqlite:', 'it must name a file', 'Write it as sqlite:./evroute.db.'],
  ['sqlite::memory:', 'it must name a file', 'Write "memory:" for a store in memory'],
]

const refusal = (why: string, hint: string) => ({
  code: 'invalid_setting',
  setting: '--store',
  message: expect.stringContaining(why) as string,
  hint: expect.stringContaining(hint) as string,
})

describe('openStore', () => {
  test('opens memory', async () => {
    const store = await openStore('memory:', { ownThread: true })
    expect(store).toBeInstanceOf(SqliteStore)
    await store.close()
  })

  test.each([
    ['in this thread', {}, 0],
    ['in its own thread', { ownThread: true }, 1],
  ])('opens a file %s, and creates it', async (_, options, threads) => {
    const started: unknown[] = []
    const listener = (worker: unknown) => started.push(worker)
    process.on('worker', listener)
    onTestFinished(() => void process.off('worker', listener))
    const store = await openStore(`sqlite:${join(await temporaryFolder(), 'store.db')}`, options)
    expect(started).toHaveLength(threads)
    expect(store instanceof SqliteStore).toBe(threads === 0)
    await store.close()
  })

  test('opens the file with exactly the given name', async () => {
    const path = join(await temporaryFolder(), 'ä ?mode=ro#%20.db')
    const store = await openStore(`sqlite:${path}`)
    const log = await openDeliveryLog(`sqlite:${path}`, { write: true })
    expect(await log.audit()).toEqual(await store.audit())
    await log.close()
    await store.close()
  })

  test.each(['postgres', 'postgresql'])(
    'opens a PostgreSQL store for %s://, or reports why it cannot',
    async (scheme) => {
      // Nothing listens on this port.
      const url = `${scheme}://somebody:swordfish@127.0.0.1:1/events`
      const expected = {
        code: 'store_unusable',
        isTemporary: true,
        message: `Cannot use the store ${scheme}://somebody@127.0.0.1:1/events: connect ECONNREFUSED 127.0.0.1:1`,
      }
      await expect(openStore(url)).rejects.toMatchObject(expected)
      await expect(openDeliveryLog(url, { write: false })).rejects.toMatchObject(expected)
    },
  )

  test.each(noFiles)('refuses "%s"', async (url, why, hint) => {
    await expect(openStore(url)).rejects.toMatchObject(refusal(why, hint))
    expect(existsSync(':memory:')).toBe(false)
  })

  test.each(['data/', '.'])('reports the folder "%s" as an unusable store', async (path) => {
    const error = {
      code: 'store_unusable',
      message: `Cannot use the store ${path}: it is a folder`,
      hint: `Name a file in it, such as sqlite:${join(path, 'evroute.db')}.`,
    }
    const url = `sqlite:${path}`
    await expect(openStore(url)).rejects.toMatchObject(error)
    await expect(openStore(url, { ownThread: true })).rejects.toMatchObject(error)
    await expect(openDeliveryLog(url, { write: false })).rejects.toMatchObject(error)
  })

  test('leaves the error of an unreadable file to the engine', async () => {
    const file = join(await temporaryFolder(), 'file\0.db')
    await expect(openStore(`sqlite:${file}`)).rejects.toMatchObject({ code: 'store_unusable' })
  })
})

describe('openDeliveryLog', () => {
  test('opens an existing file', async () => {
    const url = `sqlite:${join(await temporaryFolder(), 'store.db')}`
    const store = await openStore(url)
    const log = await openDeliveryLog(url, { write: false })
    expect(await log.list({ filter: {}, limit: 1 })).toEqual([])
    await log.close()
    await store.close()
  })

  test('creates no file', async () => {
    const url = `sqlite:${join(await temporaryFolder(), 'store.db')}`
    await expect(openDeliveryLog(url, { write: true })).rejects.toMatchObject({
      code: 'store_unusable',
    })
  })

  const noLogs = [...noFiles, ['memory:', 'sqlite:<file>', 'sqlite:./evroute.db'] as const]
  test.each(noLogs)('refuses "%s"', async (url, why, hint) => {
    const opened = openDeliveryLog(url, { write: false })
    await expect(opened).rejects.toMatchObject(refusal(why, hint))
  })
})
