import { describe, expect, onTestFinished, test } from 'vitest'
import { openDeliveryLog, openStore } from '../../../src/store/index.ts'
import { planMove } from '../../../src/store/migration/move-store.ts'
import {
  addAndLease,
  delivered,
  ended,
  event,
  nowMs,
  requestOf,
} from '../../conformance/store-under-test.ts'
import { PostgresDatabases, PostgresServer } from '../../support/postgres.ts'
import { PostgresLine } from '../../support/postgres-line.ts'
import { startSource } from '../../support/run-source.ts'
import { makeOlderStore } from '../sqlite/older-store.ts'
import { addAudiences, finishRegulations } from './full-subjects.ts'
import { change, expectMoved, failAfter, move, migrationsIn, stopAfter } from './migrations.ts'
import { contentsOf } from './store-contents.ts'

const databases = new PostgresDatabases()
const { newMigration, query, moveHalfway, waitUntilWaiting } = migrationsIn(databases)

describe('moveStore', () => {
  test('moves everything, and reports the counts of both sides', async () => {
    const migration = await newMigration()
    const reported: string[] = []
    const outcome = await move(migration, {
      progress: ({ title, rows, rowsAll }) => reported.push(`${title} ${rows}/${rowsAll}`),
    })
    expect(outcome).toMatchObject({
      kind: 'moved',
      place: expect.stringContaining('PostgreSQL') as string,
    })
    if (outcome.kind !== 'moved') return
    for (const { what, source, target } of outcome.figures)
      expect([what, target]).toEqual([what, source])
    const counted = Object.fromEntries(outcome.figures.map(({ what, source }) => [what, source]))
    expect(counted).toMatchObject({ deliveries: 89, 'crm delivered': 3, 'ledger deliveries': 95 })
    expect(reported).toContain('deliveries 2/89')
    expect(reported).toContain('deliveries 89/89')
    await expectMoved(migration)
  })

  test('starts again after a kill on any page', async () => {
    const migration = await newMigration()
    for (const pages of [0, 3, 40, 90]) {
      await expect(move(migration, { progress: failAfter(pages) })).rejects.toThrow('killed')
      expect(await planMove(migration)).toMatchObject({ isMoved: false })
    }
    expect(await move(migration)).toMatchObject({ kind: 'moved' })
    await expectMoved(migration)
  })

  test('leaves nothing in the database if it is interrupted, and can be repeated', async () => {
    const migration = await newMigration()
    expect(await move(migration, stopAfter(90))).toEqual({
      kind: 'interrupted',
      place: expect.stringContaining('PostgreSQL') as string,
    })
    // This includes dead rows, which would take up disk space until a VACUUM.
    const sizes =
      "SELECT pg_relation_size('evroute_messages') + pg_relation_size('evroute_deliveries') AS bytes"
    expect(await query(migration, sizes)).toEqual([{ bytes: '0' }])
    for (const url of [migration.url, `sqlite:${migration.path}`])
      await (await openStore(url)).close()
    expect(await move(migration)).toMatchObject({ kind: 'moved' })
    await expectMoved(migration)
  })

  test('survives a kill in any statement', async () => {
    const migration = await newMigration()
    const child = startSource(new URL('move-until-killed.ts', import.meta.url), [
      migration.path,
      migration.url,
      '40',
    ])
    await new Promise((resolve) => child.once('exit', resolve))
    expect(child.signalCode).toBe('SIGKILL')
    expect(await planMove(migration)).toMatchObject({ isMoved: false })
    expect(await move(migration)).toMatchObject({ kind: 'moved' })
    await expectMoved(migration)
  })

  test('can be repeated after the server ended its connections', async () => {
    const migration = await newMigration()
    let pages = 0
    const killing = move(migration, {
      progress: () => {
        if (++pages === 8) {
          void databases.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'evroute' AND pid <> pg_backend_pid()`)
        }
      },
    })
    const outcome = await killing.catch((error: unknown) => error)
    if (outcome instanceof Error) expect(outcome).toMatchObject({ code: 'store_unusable' })
    expect(await move(migration)).toMatchObject({
      kind: expect.stringMatching('moved|already') as string,
    })
    await expectMoved(migration)
  })

  test('includes rows that were written after it began', async () => {
    const migration = await newMigration()
    await move(migration, stopAfter(20))
    for (const path of [migration.path, migration.copy]) {
      const store = await openStore(`sqlite:${path}`)
      await store.add({ nowMs, seenSinceMs: 0, events: [event('later', 'crm')], handOver: [] })
      const share = {
        destinationId: 'crm',
        lane: 'first' as const,
        deliveriesMax: 2,
        dueByMs: nowMs,
      }
      const claimed = await store.claim({ nowMs, shares: [share] })
      await store.settle({ nowMs, settlements: claimed.map(delivered), requests: [] })
      await store.close()
    }
    expect(await move(migration)).toMatchObject({ kind: 'moved' })
    await expectMoved(migration)
  })

  test('includes manual retries that were made after it began', async () => {
    const migration = await newMigration()
    await move(migration, stopAfter(20))
    for (const path of [migration.path, migration.copy]) {
      const log = await openDeliveryLog(`sqlite:${path}`, { write: true })
      const { deliveries } = await log.retry({ nowMs, filter: { states: ['failed'] }, limit: 9 })
      expect(deliveries).toBeGreaterThan(0)
      await log.close()
    }
    expect(await move(migration)).toMatchObject({ kind: 'moved' })
    await expectMoved(migration)
  })

  test('refuses processes that open the database meanwhile, and lets the file be read', async () => {
    const migration = await newMigration()
    const { moving, goOn } = await moveHalfway(migration)
    const opening = [
      () => openStore(migration.url),
      () => openDeliveryLog(migration.url, { write: true }),
      () => openDeliveryLog(migration.url, { write: false }),
    ]
    for (const open of opening) {
      await expect(open()).rejects.toMatchObject({
        code: 'store_unusable',
        message: expect.stringContaining('a migration into it is in progress') as string,
      })
    }
    const [read, copy] = await Promise.all(
      [migration.path, migration.copy].map((path) =>
        openDeliveryLog(`sqlite:${path}`, { write: false }),
      ),
    )
    expect(await contentsOf(read!)).toEqual(await contentsOf(copy!))
    await Promise.all([read!.close(), copy!.close()])
    await goOn()
    expect(await moving).toMatchObject({ kind: 'moved' })
    await expectMoved(migration)
  })

  test('does not block a store in a different schema of the same database', async () => {
    const migration = await newMigration()
    const { moving, goOn } = await moveHalfway(migration)
    const other = await openStore(await databases.newUrl())
    const events = [event('other', 'crm')]
    const handOver = [{ destinationId: 'crm', deliveriesMax: 1 }]
    const { leased } = await addAndLease(other, { nowMs, seenSinceMs: 0, events, handOver })
    const settlements = leased.map((delivery) => ended('failed', delivery))
    const requests = leased.map((delivery) => requestOf(delivery))
    await other.settle({ nowMs, settlements, requests })
    await other.close()
    await goOn()
    expect(await moving).toMatchObject({ kind: 'moved' })
  })

  test('makes processes that opened the database earlier wait until it is complete', async () => {
    const migration = await newMigration()
    const opened = await openStore(migration.url)
    const { moving, goOn } = await moveHalfway(migration)
    const events = [event('fan_1', 'crm'), event('new', 'crm')]
    const added = opened.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
    await waitUntilWaiting()
    await goOn()
    expect(await moving).toMatchObject({ kind: 'moved' })
    expect(await added).toMatchObject({ outcomes: ['duplicate', 'routed'] })
    const [newest] = await opened.list({ filter: { messageId: 'new' }, limit: 1 })
    expect(newest!.id).toBe(96)
    await opened.close()
  })

  test('can be repeated if its commit failed after it marked the file', async () => {
    const migration = await newMigration()
    await (await openStore(migration.url)).close()
    await query(
      migration,
      `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'cannot commit'; END $$;
      CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON evroute_moves DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION fail()`,
    )
    await expect(move(migration)).rejects.toThrow('cannot commit')
    await query(migration, 'DROP FUNCTION fail CASCADE')
    expect(await query(migration, 'SELECT FROM evroute_messages')).toHaveLength(0)
    await expect(openStore(`sqlite:${migration.path}`)).rejects.toMatchObject({
      message: expect.stringContaining('it has been moved to') as string,
      hint: expect.stringContaining('If `evroute migrate` was interrupted, run it again') as string,
    })
    expect(await planMove(migration)).toMatchObject({ isMoved: false })
    expect(await move(migration)).toMatchObject({ kind: 'moved' })
    await expectMoved(migration)
    expect(await move(migration)).toMatchObject({ kind: 'already' })
  })

  test('is complete even if the answer to its commit is lost', async () => {
    const server = await PostgresServer.start()
    onTestFinished(() => server.end())
    const line = await PostgresLine.to(server)
    const migration = { ...(await newMigration()), url: server.url() }
    let isComplete = false
    line.watch = () => ({
      requested: (bytes) => {
        isComplete ||= bytes.includes('INSERT INTO evroute_moves')
        line.losesAnswers = isComplete && bytes.includes('COMMIT')
      },
      answered: () => undefined,
    })
    await expect(move({ ...migration, url: line.through(migration.url) })).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining('Connection terminated') as string,
    })
    expect(await move(migration)).toMatchObject({ kind: 'already' })
    await expectMoved(migration)
  })

  test('makes the file read-only, so that no process delivers from it or changes it afterwards', async () => {
    const migration = await newMigration()
    await move(migration)
    await expect(openStore(`sqlite:${migration.path}`)).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringMatching(
        /it has been moved to the PostgreSQL database \w+ on [^@]+:\d+ \(schema \w+\)$/,
      ) as string,
    })
    const writing = await openDeliveryLog(`sqlite:${migration.path}`, { write: true })
    await expect(writing.retry({ nowMs, filter: {}, limit: 9 })).rejects.toThrow(
      'it has been moved to',
    )
    await writing.close()
    const [read, copy] = await Promise.all(
      [migration.path, migration.copy].map((path) =>
        openDeliveryLog(`sqlite:${path}`, { write: false }),
      ),
    )
    expect(await contentsOf(read!)).toEqual(await contentsOf(copy!))
    await Promise.all([read!.close(), copy!.close()])
  })

  test('reports that the store was already moved', async () => {
    const migration = await newMigration()
    await move(migration)
    expect(await planMove(migration)).toMatchObject({ isMoved: true })
    expect(await move(migration)).toMatchObject({ kind: 'already' })
    await expectMoved(migration)
  })

  test('lets deliveries continue in the database, with ids after those of the file', async () => {
    const migration = await newMigration()
    await move(migration)
    const store = await openStore(migration.url)
    const all = await store.list({ filter: {}, limit: 1_000 })
    const destinations = [...new Set(all.map(({ destinationId }) => destinationId))]
    const { pending } = (await store.ledger()) as { readonly pending: number }
    const given: string[] = []
    for (const lane of ['first', 'retry', 'manual'] as const) {
      for (;;) {
        const shares = destinations.map((destinationId) => {
          return { destinationId, lane, deliveriesMax: 3, dueByMs: Number.MAX_SAFE_INTEGER }
        })
        const claimed = await store.claim({ nowMs, shares })
        if (claimed.length === 0) break
        given.push(...claimed.map(({ destinationId, id }) => `${destinationId}/${id}`))
        await store.settle({ nowMs, settlements: claimed.map(delivered), requests: [] })
      }
    }
    expect(given.length).toBe(pending)
    expect(new Set(given).size).toBe(given.length)
    const again = [event('fan_1', 'crm'), event('new', 'crm')]
    const { outcomes } = await store.add({ nowMs, seenSinceMs: 0, events: again, handOver: [] })
    expect(outcomes).toEqual(['duplicate', 'routed'])
    const [newest] = await store.list({ filter: { messageId: 'new' }, limit: 1 })
    expect(newest!.id).toBe(96)
    const { withoutBody, counted, ledger } = await store.audit()
    expect({ withoutBody, pending: counted.pending }).toEqual({
      withoutBody: 0,
      pending: ledger.pending,
    })
    await store.close()
  })
})

describe('a store of an older version', () => {
  test('is upgraded and moved', async () => {
    const migration = await newMigration()
    const path = `${migration.path}-older`
    await makeOlderStore(path)
    await expect(planMove({ ...migration, path })).rejects.toThrow(
      'it was created by an older version of evroute',
    )
    expect(await move({ ...migration, path })).toMatchObject({ kind: 'moved' })
    const counts =
      'SELECT (SELECT count(*) FROM evroute_deliveries) AS deliveries, count(*) FROM evroute_seen'
    expect(await query(migration, counts)).toEqual([{ deliveries: '4', count: '4' }])
  })

  test('restarts a migration that an earlier version did not complete', async () => {
    const migration = await newMigration()
    await (await openStore(migration.url)).close()
    await change(migration.path, "INSERT INTO moves VALUES ('earlier', 3, NULL)")
    await query(
      migration,
      `INSERT INTO evroute_seen VALUES ('website', 'of the earlier move', 5);
      INSERT INTO evroute_moves VALUES ('earlier', 2, 'seen', '["website","of the earlier move"]');
      CREATE FUNCTION evroute_refuse_writers() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'a migration into it is not complete' USING ERRCODE = 'ZM001'; END $$;
      CREATE TRIGGER evroute_refuse_writers BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE
        ON evroute_seen FOR EACH STATEMENT EXECUTE FUNCTION evroute_refuse_writers()`,
    )
    expect(await planMove(migration)).toMatchObject({ isMoved: false })
    expect(await move(migration)).toMatchObject({ kind: 'moved' })
    await expectMoved(migration)
    await expect(openStore(`sqlite:${migration.path}`)).rejects.toThrow('it has been moved to')
  })
})

describe('a moved store', () => {
  test('continues its regulations and syncs as the file would have', async () => {
    const migration = await newMigration()
    await move(migration)
    const stores = await Promise.all([
      openStore(migration.url),
      openStore(`sqlite:${migration.copy}`),
    ])
    for (const store of stores) {
      await finishRegulations(store)
      await addAudiences(store)
    }
    const [moved, copy] = stores
    const contents = await contentsOf(moved)
    expect(contents).toEqual(await contentsOf(copy))
    expect(contents).toMatchObject({
      regulations: [{}, {}, { id: 'part', isStoreErased: true }, {}, {}],
    })
    await Promise.all(stores.map((store) => store.close()))
  })
})
