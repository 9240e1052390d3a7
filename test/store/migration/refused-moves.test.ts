import { appendFile } from 'node:fs/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openStore } from '../../../src/store/index.ts'
import { planMove, type MoveProgress } from '../../../src/store/migration/move-store.ts'
import { PostgresImport } from '../../../src/store/migration/postgres-import.ts'
import { rowKinds } from '../../../src/store/migration/row-kinds.ts'
import { SqliteExport } from '../../../src/store/migration/sqlite-export.ts'
import { passGuard } from '../../../src/store/postgres/move-tables.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { event, nowMs } from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { change, move, placesIn, stopAfter } from './moved-places.ts'

const databases = new PostgresDatabases()
const { newPlace, ask } = placesIn(databases)

describe('a move that cannot be made', () => {
  test('names a file that is missing, of another program, newer, or delivered from', async () => {
    const place = await newPlace()
    await expect(move({ ...place, path: `${place.path}x` })).rejects.toThrow('no such file')
    const empty = `${place.path}-empty`
    await appendFile(empty, '')
    await expect(move({ ...place, path: empty })).rejects.toThrow('holds no store yet')
    const store = await openStore(`sqlite:${place.path}`)
    await expect(move(place)).rejects.toMatchObject({
      code: 'store_in_use',
      message: `Cannot move ${place.path}: a process delivers from it`,
    })
    await store.close()
    await change(place.copy, 'PRAGMA user_version = 99')
    await expect(move({ ...place, path: place.copy })).rejects.toThrow('newer version')
  })

  test('names a file that is being moved', async () => {
    const place = await newPlace()
    let second: Promise<unknown> | undefined
    const progress = (): void => {
      second ??= move(place).catch((error: unknown) => error)
    }
    await move(place, { progress })
    expect(await second).toMatchObject({
      code: 'store_in_use',
      message: `Cannot move ${place.path}: another process does so`,
    })
  })

  test('writes no page where somebody else has written since', async () => {
    const place = await newPlace()
    const file = await SqliteExport.look(place.copy)
    onTestFinished(() => file.close())
    const [first, second] = await Promise.all(
      [place, place].map(({ url }) => PostgresImport.open(url)),
    )
    onTestFinished(async () => {
      await Promise.all([first!.close(), second!.close()])
    })
    const each = { storeId: 'store', changes: 0, target: null }
    await first!.begin(each)
    await second!.begin(each)
    // Rows that have no key in the database could be there twice.
    const requests = rowKinds.find(({ name }) => name === 'requests')!
    const page = file.page(requests, null)
    const [one, two] = [0, 1].map((index) => ({ ...page, rows: [page.rows[index]!] }))
    const busy = { code: 'store_in_use' }
    await first!.write({ ...one!, last: [1] })
    await expect(second!.write({ ...one!, last: [1] })).rejects.toMatchObject(busy)
    await second!.begin(each)
    await first!.write({ ...two!, last: [2] })
    await expect(second!.write({ ...two!, last: [2] })).rejects.toMatchObject(busy)
    const other = rowKinds.find(({ name }) => name === 'seen')!
    await second!.begin(each)
    await first!.write({ ...file.page(other, null), rows: [], last: [2] })
    await expect(second!.write({ ...one!, last: [3] })).rejects.toMatchObject(busy)
    await second!.begin(each)
    await ask(place, 'UPDATE evroute_moves SET completed_at = 0')
    await expect(second!.write({ ...one!, last: [4] })).rejects.toMatchObject(busy)
    const rows = await ask(place, 'SELECT count(*)::integer AS count FROM evroute_requests')
    expect(rows).toEqual([{ count: 2 }])
  })

  test('leaves a database alone that holds anything else', async () => {
    const place = await newPlace()
    const store = await openStore(place.url)
    await store.add({ nowMs, seenSinceMs: 0, events: [event('mine', 'crm')], handOver: [] })
    await store.close()
    for (const attempt of [move, planMove]) {
      await expect(attempt(place)).rejects.toMatchObject({
        code: 'store_unusable',
        message: expect.stringContaining('it holds bodies already') as string,
      })
    }
  })

  test('leaves a database alone that a process delivers from', async () => {
    const place = await newPlace()
    await (await openStore(place.url)).close()
    const now = 'extract(epoch FROM now()) * 1000'
    await ask(place, `INSERT INTO evroute_processes VALUES ('crm', 'p_1', 0, ${now})`)
    await expect(move(place)).rejects.toThrow('a process delivers from it')
    await ask(place, 'UPDATE evroute_processes SET beaten_at = 0')
    expect(await move(place)).toMatchObject({ kind: 'moved' })
  })

  test('leaves a database alone that somebody is writing to when it begins', async () => {
    const place = await newPlace()
    await (await openStore(place.url)).close()
    await ask(place, "BEGIN; INSERT INTO evroute_seen VALUES ('website', 'm_1', 5)")
    const moving = move(place)
    moving.catch(() => undefined)
    const waiting = 'SELECT FROM pg_locks WHERE NOT granted'
    const isWaiting = async (): Promise<boolean> => (await databases.query(waiting)).length === 1
    await vi.waitUntil(async () => (await isWaiting()) || (await isOver(moving)), 60_000)
    await databases.query('COMMIT')
    await expect(moving).rejects.toThrow('it holds messageIds already')
  })

  test('leaves a database alone that another store moves or has moved to', async () => {
    const place = await newPlace()
    await move(place, stopAfter(3))
    const other = { path: place.copy, url: place.url }
    await expect(move(other)).rejects.toThrow('migration of another store into it has not ended')
    await move(place)
    await expect(move(other)).rejects.toThrow('another store was moved there')
  })

  test('leaves a file alone that was moved elsewhere', async () => {
    const place = await newPlace()
    await move(place)
    const elsewhere = { path: place.path, url: await databases.newUrl() }
    await expect(move(elsewhere)).rejects.toThrow(/it was moved to .* already/)
  })

  test('names a database of a newer version, and one that cannot be reached', async () => {
    const place = await newPlace()
    await (await openStore(place.url)).close()
    await ask(place, 'INSERT INTO evroute_migrations VALUES (99)')
    await expect(move(place)).rejects.toThrow('newer version')
    await expect(move({ ...place, url: 'postgres://me:secret@127.0.0.1:1/x' })).rejects.toThrow(
      'postgres://me@127.0.0.1:1/x',
    )
  })

  test('says what is different, and takes neither for moved', async () => {
    const place = await newPlace()
    const stop = new AbortController()
    const progress = ({ stage }: MoveProgress): void => {
      if (stage === 'comparing') stop.abort('SIGINT')
    }
    await move(place, { signal: stop.signal, progress })
    const changes = [
      passGuard,
      "UPDATE evroute_deliveries SET lane = 'manual' WHERE destination_id = 'mail'",
      "DELETE FROM evroute_seen WHERE message_id = 'nobody'",
    ]
    await ask(place, changes.join('; '))
    const outcome = await move(place)
    expect(outcome).toMatchObject({ kind: 'different' })
    if (outcome.kind !== 'different') return
    expect(outcome.pages.filter((page) => page.startsWith('deliveries'))).toHaveLength(20)
    expect(outcome.pages.filter((page) => page.startsWith('messageIds'))).toHaveLength(1)
    const seen = outcome.figures.find(({ what }) => what === 'messageIds')!
    expect(seen.source - seen.target).toBe(1)
    await expect(openStore(place.url)).rejects.toThrow('has not ended')
    await (await openStore(`sqlite:${place.path}`)).close()
  })
})

describe('what moves', () => {
  test('is every column of every table of the file', async () => {
    const { copy } = await newPlace()
    const database = await openDatabase(copy, 'read')
    const columns = database
      .prepare(
        `SELECT m.name AS kind, t.name AS name FROM sqlite_schema m, pragma_table_info(m.name) t
        WHERE m.type = 'table' AND m.name NOT IN ('moves', 'sqlite_sequence', 'counts')`,
      )
      .all() as readonly { readonly kind: string; readonly name: string }[]
    database.close()
    for (const { kind, name } of columns) {
      const names = rowKinds.find((each) => each.name === kind)?.columns.map((each) => each.name)
      expect([kind, names]).toEqual([kind, expect.arrayContaining([name])])
    }
  })

  test('fills every column of every table of the database but those of leases', async () => {
    const place = await newPlace()
    await (await openStore(place.url)).close()
    const rows = await ask(
      place,
      `SELECT table_name AS kind, column_name AS name FROM information_schema.columns
      WHERE table_schema = current_schema() AND table_name NOT LIKE '%\\_%\\_%'`,
    )
    const own = ['lease_holder', 'lease', 'leased_until', 'sync']
    const others = ['moves', 'migrations', 'steps', 'processes', 'archives'].map(
      (name) => `evroute_${name}`,
    )
    for (const { kind, name } of rows) {
      if (own.includes(String(name)) || others.includes(String(kind))) continue
      const names = rowKinds.find((each) => each.table === kind)?.columns.map((each) => each.name)
      expect([kind, names]).toEqual([kind, expect.arrayContaining([name])])
    }
  })
})

function isOver(work: Promise<unknown>): Promise<boolean> {
  const over = work.then(
    () => true,
    () => true,
  )
  return Promise.race([over, Promise.resolve(false)])
}
