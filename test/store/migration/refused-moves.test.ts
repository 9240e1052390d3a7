import { appendFile, copyFile, readFile, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../../src/store/index.ts'
import { planMove } from '../../../src/store/migration/move-store.ts'
import { movedTables } from '../../../src/store/migration/moved-tables.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { event, nowMs } from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { change, expectMoved, move, migrationsIn, stopAfter } from './migrations.ts'

const databases = new PostgresDatabases()
const { newMigration, query, moveHalfway, waitUntilWaiting } = migrationsIn(databases)

/** The size of SQLite's pages. */
const pageBytes = 4_096

describe('a move that cannot be made', () => {
  test('names a file that is missing, of another program, newer, or delivered from', async () => {
    const migration = await newMigration()
    await expect(move({ ...migration, path: `${migration.path}x` })).rejects.toThrow('no such file')
    const empty = `${migration.path}-empty`
    await appendFile(empty, '')
    await expect(move({ ...migration, path: empty })).rejects.toThrow('contains no store yet')
    const store = await openStore(`sqlite:${migration.path}`)
    await expect(move(migration)).rejects.toMatchObject({
      code: 'store_in_use',
      message: `Cannot move ${migration.path}: another process is delivering from it or moving it`,
    })
    await store.close()
    await change(migration.copy, 'PRAGMA user_version = 99')
    await expect(move({ ...migration, path: migration.copy })).rejects.toThrow('newer version')
  })

  test('names a file with a damaged row, and leaves the database empty', async () => {
    const migration = await newMigration()
    const body = JSON.stringify({ text: `${'x'.repeat(20_000)}marked${'x'.repeat(20_000)}` })
    const store = await openStore(`sqlite:${migration.path}`)
    const deliveries = [{ destinationId: 'crm', body }]
    const events = [{ ...event('long', 'crm'), deliveries }]
    await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
    await store.close()
    // A page of a long body begins with the number of the next page.
    const bytes = await readFile(migration.path)
    const inPage = bytes.indexOf('marked')
    bytes.fill(0xff, inPage - (inPage % pageBytes), inPage - (inPage % pageBytes) + 4)
    await writeFile(migration.path, bytes)
    await expect(move(migration)).rejects.toMatchObject({
      code: 'store_unusable',
      message: `Cannot use the store ${migration.path}: database disk image is malformed`,
    })
    expect(await query(migration, 'SELECT count(*)::int AS count FROM evroute_messages')).toEqual([
      { count: 0 },
    ])
  })

  test('names a file that is being moved, and a database that another store moves to', async () => {
    const migration = await newMigration()
    const { moving, goOn } = await moveHalfway(migration)
    await expect(move(migration)).rejects.toMatchObject({
      code: 'store_in_use',
      message: `Cannot move ${migration.path}: another process is delivering from it or moving it`,
    })
    const other = { path: migration.copy, url: migration.url }
    await expect(move(other)).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining('another process is using it') as string,
      hint: expect.stringContaining('run the same command again') as string,
    })
    await goOn()
    expect(await moving).toMatchObject({ kind: 'moved' })
  })

  test('refuses a database that contains anything else', async () => {
    const migration = await newMigration()
    const store = await openStore(migration.url)
    await store.add({ nowMs, seenSinceMs: 0, events: [event('mine', 'crm')], handOver: [] })
    await store.close()
    for (const attempt of [move, planMove]) {
      await expect(attempt(migration)).rejects.toMatchObject({
        code: 'store_unusable',
        message: expect.stringContaining('it already contains bodies') as string,
      })
    }
  })

  test('refuses a database that a process delivers from', async () => {
    const migration = await newMigration()
    await (await openStore(migration.url)).close()
    const now = 'extract(epoch FROM now()) * 1000'
    await query(migration, `INSERT INTO evroute_live_processes VALUES ('p_1', ${now}, 0, '{}')`)
    await expect(move(migration)).rejects.toMatchObject({
      message: expect.stringContaining('a process is delivering from it') as string,
      hint: expect.stringContaining('run the same command again') as string,
    })
    await query(migration, 'UPDATE evroute_live_processes SET beaten_at = 0')
    expect(await move(migration)).toMatchObject({ kind: 'moved' })
  })

  test('refuses a database that is being written to when it begins', async () => {
    const migration = await newMigration()
    await (await openStore(migration.url)).close()
    await query(migration, "BEGIN; INSERT INTO evroute_seen VALUES ('website', 'm_1', 5)")
    const moving = move(migration)
    moving.catch(() => undefined)
    await waitUntilWaiting()
    await databases.query('COMMIT')
    await expect(moving).rejects.toThrow('it already contains messageIds')
  })

  test('refuses a database that another store, or a later state of this one, has moved to', async () => {
    const migration = await newMigration()
    await move(migration, stopAfter(3))
    const backup = `${migration.path}-backup`
    await copyFile(migration.path, backup)
    await move(migration)
    for (const path of [migration.copy, backup]) {
      await expect(move({ ...migration, path })).rejects.toThrow(
        'a different store, or a later state of this one, has been moved there',
      )
    }
    await expectMoved(migration)
  })

  test('refuses a file that was moved to a different database or schema', async () => {
    const migration = await newMigration()
    await move(migration)
    const elsewhere = { path: migration.path, url: await databases.newUrl() }
    for (const attempt of [move, planMove]) {
      await expect(attempt(elsewhere)).rejects.toThrow(/it has already been moved to /)
    }
  })

  test('refuses a database that was used after a move to it failed', async () => {
    const migration = await newMigration()
    await move(migration)
    const store = await openStore(migration.url)
    await query(migration, 'DELETE FROM evroute_moves')
    await store.close()
    await expect(move(migration)).rejects.toMatchObject({
      message: expect.stringContaining('it already contains bodies') as string,
      hint: expect.stringContaining('until all of its deliveries have ended') as string,
    })
  })

  test('names a database of a newer version, and one that cannot be reached', async () => {
    const migration = await newMigration()
    await (await openStore(migration.url)).close()
    await query(migration, 'INSERT INTO evroute_migrations VALUES (99)')
    await expect(move(migration)).rejects.toThrow('newer version')
    await expect(move({ ...migration, url: 'postgres://me:secret@127.0.0.1:1/x' })).rejects.toThrow(
      'postgres://me@127.0.0.1:1/x',
    )
  })

  test('reports differences between the sides, and marks neither as moved', async () => {
    const migration = await newMigration()
    await (await openStore(migration.url)).close()
    await query(
      migration,
      `CREATE FUNCTION change_lane() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        NEW.lane = 'manual'; RETURN NEW; END $$;
      CREATE FUNCTION lose_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
      CREATE TRIGGER changed BEFORE INSERT ON evroute_deliveries FOR EACH ROW
        WHEN (NEW.destination_id = 'mail') EXECUTE FUNCTION change_lane();
      CREATE TRIGGER lost BEFORE INSERT ON evroute_seen FOR EACH ROW
        WHEN (NEW.message_id = 'without_user') EXECUTE FUNCTION lose_row()`,
    )
    const outcome = await move(migration)
    expect(outcome).toMatchObject({ kind: 'different' })
    if (outcome.kind !== 'different') return
    expect(outcome.columns).toEqual([
      'deliveries: lane',
      'messageIds: message_id',
      'messageIds: seen_at',
      'messageIds: source_id',
    ])
    const seen = outcome.figures.find(({ what }) => what === 'messageIds')!
    expect(seen.source - seen.target).toBe(1)
    expect(await query(migration, 'SELECT FROM evroute_messages')).toHaveLength(0)
    for (const url of [migration.url, `sqlite:${migration.path}`])
      await (await openStore(url)).close()
  })
})

describe('a move includes', () => {
  /** Returns the columns of the tables that move, as `table.column`, and whether each is computed. */
  function movedOf(columns: readonly Readonly<Record<string, unknown>>[]) {
    return columns.flatMap(({ kind, name }) => {
      const moved = movedTables.find((each) => each.name === kind)
      return moved === undefined
        ? []
        : [
            {
              column: `${String(kind)}.${String(name)}`,
              isComputed: String(name) in (moved.computed ?? {}),
            },
          ]
    })
  }

  test('every column of the file, and every column of the database except those of leases', async () => {
    const migration = await newMigration()
    const database = await openDatabase(migration.copy, 'read')
    const file = database.prepare(
      `SELECT m.name AS kind, t.name AS name FROM sqlite_schema m, pragma_table_info(m.name) t
      WHERE m.type = 'table' AND NOT (m.name = 'counts' AND t.name IN ('name', 'count'))`,
    )
    const inFile = movedOf(file.all() as Readonly<Record<string, unknown>>[])
    database.close()
    await (await openStore(migration.url)).close()
    const inDatabase = movedOf(
      await query(
        migration,
        `SELECT substr(table_name, length('evroute_') + 1) AS kind, column_name AS name
        FROM information_schema.columns WHERE table_schema = current_schema()`,
      ),
    )
    const known = new Set(inDatabase.map(({ column }) => column))
    expect(inFile.filter(({ column }) => !known.has(column))).toEqual([])
    const given = new Set(inFile.map(({ column }) => column))
    const empty = inDatabase.filter(({ column, isComputed }) => !isComputed && !given.has(column))
    expect(empty.map(({ column }) => column).toSorted()).toEqual([
      'deliveries.lease',
      'deliveries.lease_holder',
      'deliveries.leased_until',
    ])
  })

  test('every table of the file except those of moves and archives', async () => {
    const { copy } = await newMigration()
    const database = await openDatabase(copy, 'read')
    const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    database.close()
    const own = ['sqlite_sequence', 'moves', 'archives', 'regulation_archives']
    const tables = (names as readonly { readonly name: string }[]).map(({ name }) => name)
    expect(movedTables.map(({ name }) => name).toSorted()).toEqual(
      tables.filter((name) => !own.includes(name)).toSorted(),
    )
  })
})
