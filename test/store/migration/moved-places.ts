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
export interface Place {
  readonly path: string
  readonly url: string
}

/** Moves a store in many pages of two rows. */
export function move(
  { path, url }: Place,
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

export async function expectMoved({ copy, url }: Place & { readonly copy: string }): Promise<void> {
  expect(await contentsAt(url)).toEqual(await contentsAt(`sqlite:${copy}`))
}

/** Makes a move fail after a number of pages. */
export function failAfter(pages: number): MoveRequest['progress'] {
  let left = pages
  return () => {
    if (left-- === 0) throw new Error('killed')
  }
}

/** Makes a move end after a number of pages, as Ctrl-C does. */
export function stopAfter(pages: number): Pick<MoveRequest, 'progress' | 'signal'> {
  const stop = new AbortController()
  let left = pages
  return {
    signal: stop.signal,
    progress: () => {
      if (--left === 0) stop.abort('SIGINT')
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
export function placesIn(databases: PostgresDatabases) {
  return { newPlace, ask, moveHalfway, waitUntilWaiting }

  /** Creates a full store, a copy of it for comparison, and an empty database. */
  async function newPlace(): Promise<Place & { readonly copy: string }> {
    const folder = await temporaryFolder()
    const path = join(folder, 'store.db')
    await makeFullStore(path)
    const copy = join(folder, 'copy.db')
    await copyFile(path, copy)
    return { path, copy, url: await databases.newUrl() }
  }

  /** Runs a statement in the database of a place. */
  async function ask(
    { url }: Place,
    sql: string,
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    await databases.query(`SET search_path = ${schemaOf(url)}`)
    return databases.query(sql)
  }

  /** Begins a move, which stops in the middle until `goOn` is called. */
  async function moveHalfway(
    place: Place,
  ): Promise<{ readonly moving: Promise<MoveOutcome>; readonly goOn: () => Promise<unknown> }> {
    await (await openStore(place.url)).close()
    await ask(
      place,
      `CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        -- Sleeps, because a statement of a move may not wait for a lock for long.
        WHILE NOT pg_try_advisory_xact_lock(${heldLock}) LOOP PERFORM pg_sleep(0.01); END LOOP;
        RETURN NULL; END $$;
      CREATE TRIGGER stop BEFORE INSERT ON evroute_seen EXECUTE FUNCTION stop();
      SELECT pg_advisory_lock(${heldLock})`,
    )
    const moving = move(place)
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
