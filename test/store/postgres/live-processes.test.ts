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
  const heartbeat = (processId: string, destinationIds: readonly string[] = ['crm']) =>
    processes.heartbeat({ processId, destinationIds })
  return {
    database,
    processes,
    heartbeat,
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
    const { heartbeat } = await open()
    expect(await heartbeat('a')).toMatchObject([{ destinationId: 'crm', rank: 0, processes: 1 }])
    const [membership] = await heartbeat('a')
    expect(membership!.memberMs).toBeGreaterThanOrEqual(processGoneMs)
  })

  test('know their rank, their number, and how long they have been members', async () => {
    const { heartbeat, age } = await open()
    await heartbeat('b')
    await age(early)
    const [newcomer] = await heartbeat('a')
    expect(newcomer).toMatchObject({ rank: 1, processes: 2 })
    expect(newcomer!.memberMs).toBeLessThan(early)
    const [first] = await heartbeat('b')
    expect(first).toMatchObject({ rank: 0, processes: 2 })
    expect(first!.memberMs).toBeGreaterThanOrEqual(processGoneMs + early)
  })

  test('count one without a heartbeat as gone', async () => {
    const { heartbeat, age } = await open()
    await heartbeat('a')
    await heartbeat('b')
    await age(processGoneMs - 1_000, 'b')
    expect(await heartbeat('a')).toMatchObject([{ processes: 2 }])
    await age(1_000, 'b')
    const [membership] = await heartbeat('a')
    expect(membership).toMatchObject({ rank: 0, processes: 1 })
    const [again] = await heartbeat('b')
    expect(again).toMatchObject({ rank: 1, processes: 2 })
    expect(again!.memberMs).toBeLessThan(early)
  })

  test("join anew once the server's clock was set back, so that none waits for its time to come", async () => {
    const { heartbeat, age } = await open()
    await heartbeat('a')
    await heartbeat('b')
    await age(-60 * 60 * 1_000)
    const [first] = await heartbeat('a')
    expect(first).toMatchObject({ rank: 0, processes: 1 })
    expect(first!.memberMs).toBeGreaterThanOrEqual(processGoneMs)
    const [second] = await heartbeat('b')
    expect(second).toMatchObject({ rank: 1, processes: 2 })
    expect(second!.memberMs).toBeGreaterThanOrEqual(0)
  })

  test('lose a leaving process at once, and let an unknown one leave without effect', async () => {
    const { heartbeat, processes, age, database } = await open()
    await heartbeat('a')
    await heartbeat('b')
    await age(2 * early)
    await heartbeat('a')
    await heartbeat('b')
    await processes.leave({ processId: 'b' })
    await processes.leave({ processId: 'b' })
    await processes.leave({ processId: 'unknown' })
    const [membership] = await heartbeat('a')
    expect(membership).toMatchObject({ processes: 1 })
    await age(2 * processGoneMs)
    await heartbeat('a')
    const sql = 'SELECT process_id FROM evroute_live_processes'
    expect(await database.rows({ sql, values: [] })).toEqual([{ process_id: 'a' }])
  })

  test('are counted separately for each destination, whatever its id', async () => {
    const { heartbeat } = await open()
    const odd = "o'dd \\ \0 name"
    await heartbeat('a', ['crm', odd])
    const memberships = await heartbeat('b', [odd, 'mail'])
    expect(
      new Map(memberships.map(({ destinationId, processes }) => [destinationId, processes])),
    ).toEqual(
      new Map([
        [odd, 2],
        ['mail', 1],
      ]),
    )
    expect(await heartbeat('a', [])).toEqual([])
  })

  test('count one at a destination that it no longer names until its last heartbeat there is too old', async () => {
    const { heartbeat, age } = await open()
    await heartbeat('a', ['crm', 'mail'])
    await age(processGoneMs)
    await heartbeat('a', ['crm', 'mail'])
    await heartbeat('b', ['crm', 'mail'])
    await heartbeat('a', ['crm'])
    expect(await heartbeat('b', ['mail'])).toMatchObject([{ rank: 1, processes: 2 }])
    await age(processGoneMs - 1_000)
    await heartbeat('a', ['crm'])
    expect(await heartbeat('b', ['mail'])).toMatchObject([{ rank: 1, processes: 2 }])
    await age(1_000, 'a')
    await heartbeat('a', ['crm'])
    expect(await heartbeat('b', ['mail'])).toMatchObject([{ rank: 0, processes: 1 }])
    expect(await heartbeat('a', ['crm', 'mail'])).toMatchObject([
      { destinationId: 'crm', rank: 0 },
      { destinationId: 'mail', rank: 1, processes: 2 },
    ])
  })

  test('write less than 2,000 bytes per heartbeat for a thousand destinations', async () => {
    const { heartbeat, database } = await open()
    const written = async (destinations: number): Promise<number> => {
      const ids = Array.from({ length: destinations }, (_, index) => `destination-${index}`)
      const id = `p-${destinations}`
      await heartbeat(id, ids)
      const before = await position()
      for (let count = 0; count < 50; count++) await heartbeat(id, ids)
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
    const { heartbeat, database } = await open()
    let second: Promise<readonly ProcessMembership[]> | undefined
    let isOver = false
    await database.transaction(async (session) => {
      const run = (sql: string) => session.rows({ sql, values: [] })
      await run('SELECT pg_advisory_xact_lock(28559206516094054)')
      const now = 'extract(epoch FROM clock_timestamp()) * 1000'
      await run(`INSERT INTO evroute_live_processes VALUES ('a', ${now}, 0, '{"crm": [0, null]}')`)
      second = heartbeat('b').finally(() => {
        isOver = true
      })
      const waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
      await vi.waitUntil(async () => isOver || (await run(waiting)).length === 1, 60_000)
    })
    expect(await second).toMatchObject([{ rank: 1, processes: 2 }])
  })

  test('get different ranks, however many join concurrently', async () => {
    const { heartbeat } = await open()
    const ids = Array.from({ length: 12 }, (_, index) => `p-${index}`)
    await Promise.all(ids.map((id) => heartbeat(id)))
    const memberships = (await Promise.all(ids.map((id) => heartbeat(id)))).flat()
    expect(new Set(memberships.map(({ rank }) => rank)).size).toBe(12)
    expect(memberships.every(({ processes }) => processes === 12)).toBe(true)
    // Only one of them found no other.
    expect(memberships.filter(({ memberMs }) => memberMs >= processGoneMs)).toHaveLength(1)
  })
})
