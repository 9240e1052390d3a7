import { readFileSync, statSync } from 'node:fs'
import { chmod, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { StoreAudit } from '../../../src/delivery/index.ts'
import { Checkpoints } from '../../../src/store/sqlite/checkpoints.ts'
import { openDatabase, type Database } from '../../../src/store/sqlite/database.ts'
import { lockStore } from '../../../src/store/sqlite/file-lock.ts'
import { FileGuard } from '../../../src/store/sqlite/file-guard.ts'
import { SqliteLog } from '../../../src/store/sqlite/sqlite-log.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { addAndLease, delivered, event, nowMs } from '../../conformance/store-under-test.ts'
import { runSource } from '../../support/run-source.ts'
import { add, claim, longEvent, newPath, openStore } from './store-calls.ts'

let path = ''
beforeEach(async () => {
  path = await newPath()
})

/** Opens a store with many rows in its file, not only in the log. */
async function openFilledStore(): Promise<SqliteStore> {
  const filling = await SqliteStore.open(path)
  const events = Array.from({ length: 200 }, (_, index) => longEvent(`m_${index}`, 2_000))
  await filling.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
  await filling.close()
  return openStore(path)
}

const unusable = (words: string) => ({
  code: 'store_unusable',
  message: expect.stringContaining(words) as string,
  hint: expect.stringMatching(/.+/) as string,
})

async function expectUnusable(store: SqliteStore, words: string): Promise<void> {
  await expect(add(store, 'm_new')).rejects.toMatchObject(unusable(words))
  // This lasts, because no part of the file can be trusted any more.
  await expect(add(store, 'm_newer')).rejects.toMatchObject(unusable(words))
  await expect(claim(store)).rejects.toMatchObject(unusable(words))
}

describe('a store whose files are removed or replaced while it is open', () => {
  const harms: readonly (readonly [string, (file: string) => Promise<void>])[] = [
    ['removed', (file) => rm(file)],
    [
      'replaced',
      async (file) => {
        await writeFile(`${file}.other`, 'a shopping list')
        await rename(`${file}.other`, file)
      },
    ],
  ]

  describe.each(harms)('%s', (word, harm) => {
    test.each(['', '-wal'])('notices it before it answers an add: store.db%s', async (suffix) => {
      const store = await openStore(path)
      await add(store, 'm_1')
      await harm(path + suffix)
      await expectUnusable(store, `${path}${suffix} was ${word}`)
    })

    test.each(['', '-wal'])('notices it before it settles: store.db%s', async (suffix) => {
      const store = await openStore(path)
      await add(store, 'm_1')
      const [delivery] = await claim(store)
      await harm(path + suffix)
      const settled = store.settle({ nowMs, settlements: [delivered(delivery!)], requests: [] })
      await expect(settled).rejects.toMatchObject(unusable(`${path}${suffix} was ${word}`))
    })
  })

  test('does not change a file that replaced it', async () => {
    const other = await newPath()
    const otherStore = await SqliteStore.open(other)
    await add(otherStore, 'm_other')
    await otherStore.close()
    const store = await SqliteStore.open(path)
    await rename(other, path)
    await expectUnusable(store, 'was replaced')
    await store.close()
    const reopened = await openStore(path)
    expect(await reopened.list({ filter: {}, limit: 10 })).toMatchObject([{ messageId: 'm_other' }])
  })
})

describe('a store whose lock is removed or replaced while it is open', () => {
  const harms: readonly (readonly [string, () => Promise<void>])[] = [
    ['removed', () => rm(`${path}-lock`)],
    [
      'replaced',
      async () => {
        await writeFile(`${path}-lock.other`, '')
        await rename(`${path}-lock.other`, `${path}-lock`)
      },
    ],
  ]

  const alone = (word: string) => ({
    code: 'store_unusable',
    message: `Cannot use the store: ${path}-lock was ${word} while it was open, so another process may be delivering from ${path} as well`,
    hint: 'Stop this process. Start it again once no other process is delivering from the store, and leave the lock file alone.',
  })

  /** Each of these is the first call after the harm in one test. */
  const calls = ['add', 'claim', 'settle', 'retry'] as const

  describe.each(harms)('%s', (word, harm) => {
    test.each(calls)('notices it before it answers %s', async (first) => {
      const store = await openStore(path)
      await add(store, 'm_1', 'm_2')
      const share = {
        destinationId: 'crm',
        lane: 'first',
        deliveriesMax: 1,
        dueByMs: nowMs,
      } as const
      const leased = await store.claim({ nowMs, shares: [share] })
      const settlements = leased.map((delivery) => delivered(delivery))
      const answers = {
        add: () => add(store, 'm_3'),
        claim: () => claim(store),
        settle: () => store.settle({ nowMs, settlements, requests: [] }),
        retry: () => store.retry({ nowMs, filter: {}, limit: 1 }),
      }
      await harm()
      await expect(answers[first]()).rejects.toMatchObject(alone(word))
      for (const call of calls) await expect(answers[call]()).rejects.toMatchObject(alone(word))
      expect(await audit()).toMatchObject({ ledger: { accepted: 2, pending: 2, delivered: 0 } })
    })
  })

  async function audit(): Promise<StoreAudit> {
    const log = await SqliteLog.open(path, { write: false })
    onTestFinished(() => log.close())
    return log.audit()
  }

  test('leaves its deliveries to the next process, which is then the only one', async () => {
    const store = await openStore(path)
    await add(store, 'm_1')
    await rm(`${path}-lock`)
    const next = await openStore(path)
    await expect(claim(store)).rejects.toMatchObject(alone('replaced'))
    expect(await claim(next)).toMatchObject([{ messageId: 'm_1' }])
    await store.close()
    expect(await add(next, 'm_2')).toEqual(['routed'])
    await expect(SqliteStore.open(path)).rejects.toMatchObject({ code: 'store_in_use' })
  })
})

describe('the hooks of a store', () => {
  test('notices a log that was removed while it committed', async () => {
    const database = await openDatabase(path)
    onTestFinished(() => database.close())
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT)')
    const lock = await lockStore(path)
    onTestFinished(() => lock.release())
    const guard = new FileGuard(path, lock)
    guard.beforeBegin()
    await rm(`${path}-wal`)
    expect(() => guard.afterCommit()).toThrow('-wal was removed')
  })

  test('ignores a checkpoint that fails after the answers', async () => {
    const database = await openDatabase(path)
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT)')
    const checkpoints = new Checkpoints(database)
    database.close()
    expect(() => checkpoints.afterAnswer()).not.toThrow()
  })
})

describe('a store beside a tool for SQLite', () => {
  test.each([
    ['writes a table', 'CREATE TABLE notes (text TEXT)'],
    ['copies the log into the file', 'PRAGMA wal_checkpoint(PASSIVE)'],
    ['empties the log', 'PRAGMA wal_checkpoint(TRUNCATE)'],
    [
      'makes the file shorter',
      'DELETE FROM messages WHERE id > 9; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)',
    ],
  ])('continues when the tool %s', async (_name, sql) => {
    const store = await openFilledStore()
    await add(store, 'm_before')
    const tool = await openDatabase(path, 'write')
    tool.exec(sql)
    tool.close()
    expect(await add(store, 'm_new')).toEqual(['routed'])
    expect(await add(store, 'm_newer')).toEqual(['routed'])
  })

  test.skipIf(process.platform !== 'linux')(
    'does not read the file before the next answer, however large it is',
    async () => {
      const store = await openFilledStore()
      await add(store, 'm_before')
      const tool = await openDatabase(path, 'write')
      tool.exec('PRAGMA wal_checkpoint(PASSIVE)')
      tool.close()
      const before = bytesRead()
      expect(await add(store, 'm_new')).toEqual(['routed'])
      expect(bytesRead() - before).toBeLessThan(statSync(path).size / 4)
    },
  )

  /** The bytes that this process has read from files so far. */
  function bytesRead(): number {
    return Number(/^rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  }
})

test('a store continues after its own checkpoints', async () => {
  const store = await openStore(path)
  for (let turn = 0; turn < 4; turn++) {
    const events = Array.from({ length: 500 }, (_, part) => longEvent(`m_${turn}_${part}`, 5_000))
    const { outcomes } = await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
    expect(new Set(outcomes)).toEqual(new Set(['routed']))
  }
})

describe('a store whose disk is full', () => {
  let connection: Database
  let store: SqliteStore

  beforeEach(async () => {
    store = await SqliteStore.open(path, async (file) => (connection = await openDatabase(file)))
    onTestFinished(() => store.close())
    await add(store, 'm_1')
  })

  /** Limits the size of the file, or removes the limit. */
  function setRoom(pages: 'none' | 'plenty'): void {
    connection.exec(`PRAGMA max_page_count = ${pages === 'none' ? 1 : 1_000_000}`)
  }

  const batch = {
    nowMs,
    seenSinceMs: 0,
    events: [event('m_2', 'crm'), longEvent('m_3', 100_000)],
    handOver: [{ destinationId: 'crm', deliveriesMax: 2 }],
  }

  test('rejects an add, stores nothing of it, and asks for room', async () => {
    setRoom('none')
    await expect(store.add(batch)).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining('full') as string,
      hint: expect.stringContaining('Free up space on the disk') as string,
    })
    expect(await store.ledger()).toMatchObject({ accepted: 1, pending: 1 })
    expect(await store.list({ filter: {}, limit: 10 })).toHaveLength(1)
    expect(await claim(store)).toMatchObject([{ messageId: 'm_1' }])
  })

  test('still settles while it rejects an add that arrived at the same time', async () => {
    const [delivery] = await claim(store)
    setRoom('none')
    const [big, settled] = await Promise.allSettled([
      store.add(batch),
      store.settle({ nowMs, settlements: [delivered(delivery!)], requests: [] }),
    ])
    expect([big.status, settled.status]).toEqual(['rejected', 'fulfilled'])
    expect(await store.ledger()).toMatchObject({ accepted: 1, delivered: 1, pending: 0 })
  })

  test('is temporarily not writable', async () => {
    setRoom('none')
    const refused = { code: 'store_unusable', isTemporary: true }
    await expect(store.checkWritable()).rejects.toMatchObject(refused)
    setRoom('plenty')
    await store.checkWritable()
  })

  test('continues once there is room, and has stored exactly what it acknowledged', async () => {
    setRoom('none')
    await expect(store.add(batch)).rejects.toMatchObject({ code: 'store_unusable' })
    setRoom('plenty')
    const { outcomes, leased } = await addAndLease(store, batch)
    expect(outcomes).toEqual(['routed', 'routed'])
    expect(leased.map(({ messageId }) => messageId)).toEqual(['m_2', 'm_3'])
    await store.close()
    const reopened = await openStore(path)
    const listed = await reopened.list({ filter: {}, limit: 10 })
    expect(listed.map(({ id, messageId }) => [id, messageId])).toEqual([
      [3, 'm_3'],
      [2, 'm_2'],
      [1, 'm_1'],
    ])
  })
})

describe('a store whose commit fails', () => {
  test('keeps the lease whose settlement could not be written, and continues', async () => {
    let connection: Database | undefined
    const store = await SqliteStore.open(path, async (file) => {
      return (connection = await openDatabase(file))
    })
    onTestFinished(() => store.close())
    await add(store, 'm_1')
    const [delivery] = await claim(store)
    const settle = () => store.settle({ nowMs, settlements: [delivered(delivery!)], requests: [] })
    connection!.exec('PRAGMA query_only = 1')
    await expect(settle()).rejects.toMatchObject({ code: 'store_unusable' })
    expect(await claim(store)).toEqual([])
    connection!.exec('PRAGMA query_only = 0')
    await settle()
    expect(await store.ledger()).toMatchObject({ delivered: 1, pending: 0 })
  })
})

describe('a store that cannot be opened', () => {
  test('says that its folder is missing', async () => {
    const missing = join(path, 'no', 'store.db')
    await expect(SqliteStore.open(missing)).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining(`the folder ${dirname(missing)} does not exist`) as string,
      hint: 'Create the folder, or name a different file.',
    })
  })

  const folders = [
    ['a read-only file', 0o777],
    ['a read-only folder', 0o755],
  ] as const
  test.skipIf(process.platform === 'win32').each(folders)('names %s', async (_name, mode) => {
    await (await SqliteStore.open(path)).close()
    await Promise.all([chmod(path, 0o444), chmod(dirname(path), mode)])
    await rm(`${path}-lock`)
    const output = await runSource(new URL('open-unprivileged.ts', import.meta.url), [path])
    expect(JSON.parse(output)).toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining(path) as string,
      hint: expect.stringContaining('folder') as string,
    })
  })
})
