import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { processGoneMs, type ProcessMembership } from '../../../src/delivery/index.ts'
import { Database } from '../../../src/store/postgres/database.ts'
import { LiveProcesses } from '../../../src/store/postgres/live-processes.ts'
import { Notifications } from '../../../src/store/postgres/notifications.ts'
import { migrate } from '../../../src/store/postgres/schema.ts'
import { ServerClock } from '../../../src/store/postgres/server-clock.ts'
import { PostgresDatabases } from '../../support/postgres.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

/** Opens the processes of a new database, with functions that send heartbeats and age them. */
async function open() {
  const url = await databases.newUrl()
  const database = new Database(url, { connectionsMax: 4, isReadOnly: false })
  onTestFinished(() => database.close())
  await migrate(database)
  const notifications = new Notifications(database, { url, holder: 1 })
  const processes = new LiveProcesses(database, new ServerClock(database), notifications)
  const beat = (processId: string, destinationIds: readonly string[] = ['crm']) =>
    processes.heartbeat({ processId, destinationIds })
  return {
    database,
    processes,
    beat,
    /** Makes the heartbeats of matching processes older. */
    age: async (durationMs: number, processId = '%') => {
      const values = [durationMs, processId]
      const sql = `
        UPDATE evroute_live_processes SET beaten_at = beaten_at - $1, version = version - $1,
          destinations = (SELECT jsonb_object_agg(key, jsonb_build_array(
            (value ->> 0)::bigint - $1, (value ->> 1)::bigint - $1)) FROM jsonb_each(destinations))
        WHERE process_id LIKE $2`
      await database.rows({ sql, values })
    },
  }
}

const early = 5_000

describe('processes of one database', () => {
  test('give one that finds no other its full share at once', async () => {
    const { beat } = await open()
    expect(await beat('a')).toMatchObject([{ destinationId: 'crm', rank: 0, processes: 1 }])
    const [place] = await beat('a')
    expect(place!.memberMs).toBeGreaterThanOrEqual(processGoneMs)
  })

  test('know their rank, their number, and how long they have been members', async () => {
    const { beat, age } = await open()
    await beat('b')
    await age(early)
    const [newcomer] = await beat('a')
    expect(newcomer).toMatchObject({ rank: 1, processes: 2 })
    expect(newcomer!.memberMs).toBeLessThan(early)
    const [first] = await beat('b')
    expect(first).toMatchObject({ rank: 0, processes: 2 })
    expect(first!.memberMs).toBeGreaterThanOrEqual(processGoneMs + early)
  })

  test('count one without a heartbeat as gone', async () => {
    const { beat, age } = await open()
    await beat('a')
    await beat('b')
    await age(processGoneMs - 1_000, 'b')
    expect(await beat('a')).toMatchObject([{ processes: 2 }])
    await age(1_000, 'b')
    const [place] = await beat('a')
    expect(place).toMatchObject({ rank: 0, processes: 1 })
    const [again] = await beat('b')
    expect(again).toMatchObject({ rank: 1, processes: 2 })
    expect(again!.memberMs).toBeLessThan(early)
  })

  test('lose a leaving process at once, and let an unknown one leave without effect', async () => {
    const { beat, processes, age, database } = await open()
    await beat('a')
    await beat('b')
    await age(2 * early)
    await beat('a')
    await beat('b')
    await processes.leave({ processId: 'b' })
    await processes.leave({ processId: 'b' })
    await processes.leave({ processId: 'unknown' })
    const [place] = await beat('a')
    expect(place).toMatchObject({ processes: 1 })
    await age(2 * processGoneMs)
    await beat('a')
    const sql = 'SELECT process_id FROM evroute_live_processes'
    expect(await database.rows({ sql, values: [] })).toEqual([{ process_id: 'a' }])
  })

  test('are counted separately for each destination, whatever its id', async () => {
    const { beat } = await open()
    const odd = "o'dd \\ \0 name"
    await beat('a', ['crm', odd])
    const places = await beat('b', [odd, 'mail'])
    expect(
      new Map(places.map(({ destinationId, processes }) => [destinationId, processes])),
    ).toEqual(
      new Map([
        [odd, 2],
        ['mail', 1],
      ]),
    )
    expect(await beat('a', [])).toEqual([])
  })

  test('count one at a destination that it no longer names until its last heartbeat there is too old', async () => {
    const { beat, age } = await open()
    await beat('a', ['crm', 'mail'])
    await age(processGoneMs)
    await beat('a', ['crm', 'mail'])
    await beat('b', ['crm', 'mail'])
    await beat('a', ['crm'])
    expect(await beat('b', ['mail'])).toMatchObject([{ rank: 1, processes: 2 }])
    await age(processGoneMs - 1_000)
    await beat('a', ['crm'])
    expect(await beat('b', ['mail'])).toMatchObject([{ rank: 1, processes: 2 }])
    await age(1_000, 'a')
    await beat('a', ['crm'])
    expect(await beat('b', ['mail'])).toMatchObject([{ rank: 0, processes: 1 }])
    expect(await beat('a', ['crm', 'mail'])).toMatchObject([
      { destinationId: 'crm', rank: 0 },
      { destinationId: 'mail', rank: 1, processes: 2 },
    ])
  })

  test('write less than 2,000 bytes per heartbeat for a thousand destinations', async () => {
    const { beat, database } = await open()
    const written = async (destinations: number): Promise<number> => {
      const ids = Array.from({ length: destinations }, (_, index) => `destination-${index}`)
      const id = `p-${destinations}`
      await beat(id, ids)
      const before = await position()
      for (let beats = 0; beats < 50; beats++) await beat(id, ids)
      return (await position()) - before
    }
    const position = async (): Promise<number> => {
      const sql = `SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS bytes`
      const [row] = await database.rows<{ readonly bytes: string }>({ sql, values: [] })
      return Number(row!.bytes)
    }
    await written(1)
    expect(await written(1_000)).toBeLessThan(50 * 2_000)
  })

  test('have their heartbeats handled one at a time, so that each sees all earlier ones', async () => {
    const { beat, database } = await open()
    let second: Promise<readonly ProcessMembership[]> | undefined
    let isOver = false
    await database.transaction(async (session) => {
      const ask = (sql: string) => session.rows({ sql, values: [] })
      await ask('SELECT pg_advisory_xact_lock(28559206516094054)')
      const now = 'extract(epoch FROM clock_timestamp()) * 1000'
      await ask(`INSERT INTO evroute_live_processes VALUES ('a', ${now}, 0, '{"crm": [0, null]}')`)
      second = beat('b').finally(() => {
        isOver = true
      })
      const waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
      await vi.waitUntil(async () => isOver || (await ask(waiting)).length === 1, 60_000)
    })
    expect(await second).toMatchObject([{ rank: 1, processes: 2 }])
  })

  test('get different ranks, however many join concurrently', async () => {
    const { beat } = await open()
    const ids = Array.from({ length: 12 }, (_, index) => `p-${index}`)
    await Promise.all(ids.map((id) => beat(id)))
    const places = (await Promise.all(ids.map((id) => beat(id)))).flat()
    expect(new Set(places.map(({ rank }) => rank)).size).toBe(12)
    expect(places.every(({ processes }) => processes === 12)).toBe(true)
    // Only one of them found no other.
    expect(places.filter(({ memberMs }) => memberMs >= processGoneMs)).toHaveLength(1)
  })
})
