import { describe, expect, test } from 'vitest'
import { openDeliveryLog, openStore } from '../../../src/store/index.ts'
import { planMove } from '../../../src/store/migration/move-store.ts'
import { passGuard } from '../../../src/store/migration/postgres-import.ts'
import { delivered, event, nowMs } from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { startSource } from '../../support/run-source.ts'
import { makeOlderStore } from '../sqlite/older-store.ts'
import { addAudiences, finishRegulations } from './full-subjects.ts'
import { change, expectMoved, failAfter, move, placesIn, stopAfter } from './moved-places.ts'
import { contentsOf } from './store-contents.ts'

const databases = new PostgresDatabases()
const { newPlace, ask } = placesIn(databases)

describe('moveStore', () => {
  test('moves everything, and reports the figures of both sides', async () => {
    const place = await newPlace()
    const told: string[] = []
    const outcome = await move(place, {
      progress: ({ title, rows, rowsAll }) => told.push(`${title} ${rows}/${rowsAll}`),
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
    expect(told).toContain('deliveries 2/89')
    expect(told).toContain('deliveries 89/89')
    await expectMoved(place)
  })

  test('starts again after a kill on any page', async () => {
    const place = await newPlace()
    for (const pages of [0, 3, 40, 90]) {
      await expect(move(place, { progress: failAfter(pages) })).rejects.toThrow('killed')
      expect(await planMove(place)).toMatchObject({ isMoved: false })
    }
    expect(await move(place)).toMatchObject({ kind: 'moved' })
    await expectMoved(place)
  })

  test('leaves nothing in the database when it is asked to end, and moves later', async () => {
    const place = await newPlace()
    expect(await move(place, stopAfter(5))).toEqual({
      kind: 'interrupted',
      place: expect.stringContaining('PostgreSQL') as string,
    })
    expect(await ask(place, 'SELECT FROM evroute_messages')).toHaveLength(0)
    await expect(openStore(place.url)).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining('a migration into it is not complete') as string,
    })
    await expect(openDeliveryLog(place.url, { write: false })).rejects.toThrow('is not complete')
    expect(await move(place)).toMatchObject({ kind: 'moved' })
    await expectMoved(place)
  })

  test('survives a kill in any statement', async () => {
    const place = await newPlace()
    const child = startSource(new URL('move-until-killed.ts', import.meta.url), [
      place.path,
      place.url,
      '40',
    ])
    await new Promise((resolve) => child.once('exit', resolve))
    expect(child.signalCode).toBe('SIGKILL')
    expect(await planMove(place)).toMatchObject({ isMoved: false })
    expect(await move(place)).toMatchObject({ kind: 'moved' })
    await expectMoved(place)
  })

  test('goes on after the server has ended its connections', async () => {
    const place = await newPlace()
    let pages = 0
    const killing = move(place, {
      progress: () => {
        if (++pages === 8) {
          void databases.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'evroute' AND pid <> pg_backend_pid()`)
        }
      },
    })
    const outcome = await killing.catch((error: unknown) => error)
    if (outcome instanceof Error) expect(outcome).toMatchObject({ code: 'store_unusable' })
    expect(await move(place)).toMatchObject({
      kind: expect.stringMatching('moved|already') as string,
    })
    await expectMoved(place)
  })

  test('includes rows that were written since it began', async () => {
    const place = await newPlace()
    await move(place, stopAfter(20))
    for (const path of [place.path, place.copy]) {
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
    expect(await move(place)).toMatchObject({ kind: 'moved' })
    await expectMoved(place)
  })

  test('includes manual retries since it began', async () => {
    const place = await newPlace()
    await move(place, stopAfter(20))
    for (const path of [place.path, place.copy]) {
      const log = await openDeliveryLog(`sqlite:${path}`, { write: true })
      expect(await log.retry({ nowMs, filter: { states: ['failed'] }, limit: 9 })).toBeGreaterThan(
        0,
      )
      await log.close()
    }
    expect(await move(place)).toMatchObject({ kind: 'moved' })
    await expectMoved(place)
  })

  test('keeps out processes that opened the database earlier, until it is complete', async () => {
    const place = await newPlace()
    const opened = await openStore(place.url)
    await move(place, stopAfter(70))
    const batch = { nowMs, seenSinceMs: 0, events: [event('new', 'crm')], handOver: [] }
    const purged = { ...retentionFrom(nowMs), rowsMax: 9 }
    const share = { destinationId: 'crm', lane: 'first' as const, deliveriesMax: 2 }
    const shares = [{ ...share, dueByMs: nowMs }]
    const attempts = [
      () => opened.add(batch),
      () => opened.claim({ nowMs, shares }),
      () => opened.purge(purged),
    ]
    for (const attempt of attempts) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'store_unusable',
        message: expect.stringContaining('a migration into it is not complete') as string,
        isTemporary: true,
      })
    }
    for (const path of [place.path, place.copy]) await (await openStore(`sqlite:${path}`)).close()
    expect(await move(place)).toMatchObject({ kind: 'moved' })
    await expectMoved(place)
    expect(await opened.add(batch)).toMatchObject({ outcomes: ['routed'] })
    await opened.close()
  })

  test('makes the file read-only: no process delivers from it or changes it afterwards', async () => {
    const place = await newPlace()
    await move(place)
    await expect(openStore(`sqlite:${place.path}`)).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringMatching(
        /it has been moved to the PostgreSQL database \w+ on [^@]+:\d+$/,
      ) as string,
    })
    const writing = await openDeliveryLog(`sqlite:${place.path}`, { write: true })
    await expect(writing.retry({ nowMs, filter: {}, limit: 9 })).rejects.toThrow(
      'it has been moved to',
    )
    await writing.close()
    const [read, copy] = await Promise.all(
      [place.path, place.copy].map((path) => openDeliveryLog(`sqlite:${path}`, { write: false })),
    )
    expect(await contentsOf(read!)).toEqual(await contentsOf(copy!))
    await Promise.all([read!.close(), copy!.close()])
  })

  test('says so when it was done before', async () => {
    const place = await newPlace()
    await move(place)
    expect(await planMove(place)).toMatchObject({ isMoved: true })
    expect(await move(place)).toMatchObject({ kind: 'already' })
    await expectMoved(place)
  })

  test.each(['before the database was', 'before the file was'])(
    'finishes where it ended %s noted',
    async (when) => {
      const place = await newPlace()
      await move(place)
      if (when === 'before the database was') {
        await ask(place, 'UPDATE evroute_moves SET completed_at = NULL')
        await expect(openStore(place.url)).rejects.toThrow('is not complete')
      } else {
        await change(place.path, 'UPDATE moves SET target = NULL')
      }
      expect(await move(place)).toMatchObject({
        kind: expect.stringMatching('moved|already') as string,
      })
      await expect(openStore(`sqlite:${place.path}`)).rejects.toThrow('it has been moved to')
      await expectMoved(place)
    },
  )

  test('goes on delivering in the database, behind the ids of the file', async () => {
    const place = await newPlace()
    await move(place)
    const store = await openStore(place.url)
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
  test('is brought up to date and moved', async () => {
    const place = await newPlace()
    const path = `${place.path}-older`
    await makeOlderStore(path)
    await expect(planMove({ ...place, path })).rejects.toThrow(
      'it was created by an older version of evroute',
    )
    expect(await move({ ...place, path })).toMatchObject({ kind: 'moved' })
    const counts =
      'SELECT (SELECT count(*) FROM evroute_deliveries) AS deliveries, count(*) FROM evroute_seen'
    expect(await ask(place, counts)).toEqual([{ deliveries: '4', count: '4' }])
  })

  test('starts a migration of that version again, whose rows are there', async () => {
    const place = await newPlace()
    await move(place, stopAfter(3))
    await ask(
      place,
      `${passGuard}; INSERT INTO evroute_seen VALUES ('website', 'of the earlier move', 5);
      UPDATE evroute_moves SET kind = 'seen', position = '["website","of the earlier move"]'`,
    )
    expect(await move(place)).toMatchObject({ kind: 'moved' })
    await expectMoved(place)
  })
})

describe('a store that was moved', () => {
  test('continues with deletion requests and audiences as the file would have', async () => {
    const place = await newPlace()
    await move(place)
    const stores = await Promise.all([openStore(place.url), openStore(`sqlite:${place.copy}`)])
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

function retentionFrom(beforeMs: number) {
  return {
    nowMs: beforeMs,
    deliveredBeforeMs: beforeMs,
    failedBeforeMs: beforeMs,
    abandonedBeforeMs: beforeMs,
    messageIdsBeforeMs: beforeMs,
  }
}
