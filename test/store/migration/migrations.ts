import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import {
  moveStore,
  type MoveOutcome,
  type MoveRequest,
} from '../../../src/store/migration/move-store.ts'
import { openStore } from '../../../src/store/index.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { nowMs } from '../../conformance/store-under-test.ts'
import { schemaOf, type PostgresDatabases } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { makeFullStore } from './full-store.ts'
import { contentsOf } from './store-contents.ts'

/** The file of a store, and the database that it moves to. */
export interface Migration {
  readonly path: string
  readonly url: string
}

/** Moves a store in many pages of two rows. */
export function move(
  { path, url }: Migration,
  changes: Partial<MoveRequest> = {},
): Promise<MoveOutcome> {
  return moveStore({
    path,
    url,
    rowsAtOnce: 2,
    signal: new AbortController().signal,
    newId: () => `store ${path}`,
    nowMs: () => nowMs,
    progress: () => undefined,
    ...changes,
  })
}

async function contentsAt(url: string): Promise<object> {
  const store = await openStore(url)
  try {
    return await contentsOf(store)
  } finally {
    await store.close()
  }
}

export async function expectMoved({
  copy,
  url,
}: Migration & { readonly copy: string }): Promise<void> {
  expect(await contentsAt(url)).toEqual(await contentsAt(`sqlite:${copy}`))
}

/** Makes a move fail after a number of pages. */
export function failAfter(pages: number): MoveRequest['progress'] {
  let remaining = pages
  return () => {
    if (remaining-- === 0) throw new Error('killed')
  }
}

/** Makes a move end after a number of pages, as Ctrl-C does. */
export function stopAfter(pages: number): Pick<MoveRequest, 'progress' | 'signal'> {
  const stop = new AbortController()
  let remaining = pages
  return {
    signal: stop.signal,
    progress: () => {
      if (--remaining === 0) stop.abort('SIGINT')
    },
  }
}

export async function change(path: string, sql: string): Promise<void> {
  const database = await openDatabase(path)
  database.exec(sql)
  database.close()
}

/** The number of an advisory lock that nothing else uses. */
const heldLock = 77

/** Returns functions for moves into the databases of a test file. */
export function migrationsIn(databases: PostgresDatabases) {
  return { newMigration, query, moveHalfway, waitUntilWaiting }

  /** Creates a full store, a copy of it for comparison, and an empty database. */
  async function newMigration(): Promise<Migration & { readonly copy: string }> {
    const folder = await temporaryFolder()
    const path = join(folder, 'store.db')
    await makeFullStore(path)
    const copy = join(folder, 'copy.db')
    await copyFile(path, copy)
    return { path, copy, url: await databases.newUrl() }
  }

  /** Runs a statement in the database of a migration. */
  async function query(
    { url }: Migration,
    sql: string,
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    await databases.query(`SET search_path = ${schemaOf(url)}`)
    return databases.query(sql)
  }

  /** Begins a move, which stops in the middle until `goOn` is called. */
  async function moveHalfway(
    migration: Migration,
  ): Promise<{ readonly moving: Promise<MoveOutcome>; readonly goOn: () => Promise<unknown> }> {
    await (await openStore(migration.url)).close()
    await query(
      migration,
      `CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        -- Sleeps, because a statement of a move may not wait for a lock for long.
        WHILE NOT pg_try_advisory_xact_lock(${heldLock}) LOOP PERFORM pg_sleep(0.01); END LOOP;
        RETURN NULL; END $$;
      CREATE TRIGGER stop BEFORE INSERT ON evroute_seen EXECUTE FUNCTION stop();
      SELECT pg_advisory_lock(${heldLock})`,
    )
    const moving = move(migration)
    moving.catch(() => undefined)
    const isStopped = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    await vi.waitUntil(async () => (await databases.query(isStopped)).length > 0, 60_000)
    return { moving, goOn: () => databases.query(`SELECT pg_advisory_unlock(${heldLock})`) }
  }

  /** Resolves once a statement waits for a lock. */
  async function waitUntilWaiting(): Promise<void> {
    const sql = 'SELECT FROM pg_locks WHERE NOT granted'
    await vi.waitUntil(async () => (await databases.query(sql)).length > 0, 60_000)
  }
}
