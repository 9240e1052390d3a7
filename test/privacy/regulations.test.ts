import { describe, expect, test } from 'vitest'
import { gate } from '../support/gate.ts'
import { KeptRegulations, notBegun } from './kept-regulations.ts'
import { makeRegulations, nothingArchived, outage, request, userId } from './made-regulations.ts'
import { nowMs } from '../intake/support.ts'

describe('A regulation', () => {
  test('is stored with its notifications, carried out and finished', async () => {
    const archived = { events: 3, files: 2, problems: [] }
    const { regulations, store, create, wakes, clock, archiveRequests, infos, warnings } =
      makeRegulations({ eraseArchives: () => Promise.resolve(archived) })
    store.answers.push('more', 'more', 'nothing')
    const id = await create()
    await regulations.idle()
    expect(store.created).toMatchObject([
      { regulation: { id, userIds: [userId] }, notifications: [{ messageId: `${id}/1` }], nowMs },
    ])
    expect(wakes()).toBe(1)
    expect(store.steps).toEqual([
      ...Array.from({ length: 3 }, () => `erase ${id}`),
      `note ${id}`,
      `finish ${id}`,
    ])
    expect(store.erased[0]).toEqual({ id, nowMs, rowsMax: 1_000, leavesTraces: true })
    expect(archiveRequests).toMatchObject([
      { sourceIds: null, userIds: [userId], untilMs: nowMs, signal: { aborted: false } },
    ])
    expect(await regulations.find({ id })).toMatchObject({ archive: archived, finishedAtMs: nowMs })
    expect(await regulations.list({ limit: 10 })).toMatchObject([{ id }])
    expect(infos).toEqual([
      {
        message: 'a regulation was created',
        regulation: id,
        type: 'DELETE_ONLY',
        users: 1,
        sources: 'all',
        notifications: 1,
      },
      {
        message: 'a regulation has finished',
        regulation: id,
        type: 'DELETE_ONLY',
        status: 'FINISHED',
        pending: 0,
        settled: 0,
        members: 0,
        archived: 3,
      },
    ])
    expect(JSON.stringify([infos, warnings])).not.toContain(userId)
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('that suppresses erases calls that are archived while it is being stored', async () => {
    const { regulations, create, archiveRequests } = makeRegulations()
    await create({ type: 'SUPPRESS_WITH_DELETE_INTERNAL' })
    await regulations.idle()
    expect(archiveRequests).toMatchObject([{ untilMs: nowMs + 60_000 }])
  })

  test('for an unknown source is not stored', async () => {
    const { regulations, store, wakes, infos } = makeRegulations()
    expect(await regulations.create({ ...request, sourceIds: ['shop'] })).toMatchObject({
      kind: 'unknown_source',
    })
    await regulations.idle()
    expect([store.created, store.steps, infos, wakes()]).toEqual([[], [], [], 0])
  })

  test('that the store refuses is not carried out', async () => {
    const { regulations, store, create } = makeRegulations()
    store.failures.create = [outage]
    await expect(create()).rejects.toBe(outage)
    await regulations.idle()
    expect(store.steps).toEqual([])
  })

  test.each([
    ['SUPPRESS_ONLY', 0, 0],
    ['UNSUPPRESS', 0, 0],
    ['DELETE_ARCHIVE_ONLY', 1, 0],
    ['SUPPRESS_WITH_DELETE_INTERNAL', 1, 0],
    ['SUPPRESS_WITH_DELETE', 1, 1],
  ] as const)(
    'of type %s erases archives %i times, and wakes delivery %i times',
    async (type, requests, woken) => {
      const { regulations, create, archiveRequests, wakes, infos } = makeRegulations()
      await create({ type, sourceIds: ['website'] })
      await regulations.idle()
      expect([archiveRequests.length, wakes()]).toEqual([requests, woken])
      expect(infos).toMatchObject([{ sources: 1 }, { status: 'FINISHED' }])
    },
  )

  test('lets other work run between its steps', async () => {
    const { regulations, store, create } = makeRegulations()
    store.answers.push('more', 'more', 'more')
    let turns = 0
    const count = (): void => {
      turns++
      if (store.erased.length < 4) setImmediate(count)
    }
    setImmediate(count)
    await create()
    await regulations.idle()
    expect(turns).toBeGreaterThanOrEqual(4)
  })

  test('is checked every second while it waits, and erases its archives only once', async () => {
    const { regulations, store, create, clock, archiveRequests } = makeRegulations()
    store.answers.push('waiting', 'waiting', 'more', 'waiting')
    const id = await create()
    await regulations.idle()
    const looks = () => store.erased.length
    const find = store.find.bind(store)
    let finds = 0
    store.find = (request) => {
      finds++
      return find(request)
    }
    await clock.advance(999)
    expect(looks()).toBe(1)
    await clock.advance(1)
    expect(looks()).toBe(2)
    await clock.advance(1_000)
    expect(looks()).toBe(4)
    // A check only asks the store whether the regulation still waits.
    expect(finds).toBe(0)
    expect(store.get(id).finishedAtMs).toBeNull()
    await clock.advance(1_000)
    expect(store.steps.at(-1)).toBe(`finish ${id}`)
    expect(archiveRequests).toHaveLength(1)
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('waits for its notifications even if everything else is done', async () => {
    const { regulations, store, create, clock } = makeRegulations()
    const id = await create()
    const [stream] = store.get(id).streams
    store.change(id, { streams: [{ ...stream!, pending: 1, delivered: 0 }] })
    await regulations.idle()
    expect(store.get(id).finishedAtMs).toBeNull()
    store.change(id, { streams: [{ ...stream!, failed: 1, delivered: 0 }] })
    await clock.advance(1_000)
    expect(store.get(id).finishedAtMs).toBe(nowMs + 1_000)
  })

  test('does not hold up others while it waits', async () => {
    const { regulations, store, create } = makeRegulations()
    store.answers.push('waiting')
    const first = await create()
    store.waiting.add(first)
    const second = await create()
    await regulations.idle()
    expect(store.get(first).finishedAtMs).toBeNull()
    expect(store.get(second).finishedAtMs).toBe(nowMs)
  })

  test('is checked by idle at once, without the delay', async () => {
    const { regulations, store, create } = makeRegulations()
    store.answers.push('waiting')
    const id = await create()
    store.waiting.add(id)
    await regulations.idle()
    expect(store.get(id).finishedAtMs).toBeNull()
    store.waiting.clear()
    await regulations.idle()
    expect(store.get(id).finishedAtMs).toBe(nowMs)
  })

  test('reports archives that were not erased completely', async () => {
    const problems = ['/archive/a.gz: it is damaged', '/archive/b.gz: it is a folder']
    const { regulations, create, warnings, infos } = makeRegulations({
      eraseArchives: () => Promise.resolve({ ...nothingArchived, problems }),
    })
    const id = await create()
    await regulations.idle()
    expect(warnings).toEqual([
      {
        message: 'some events could not be erased from archives',
        regulation: id,
        problems: 2,
        first: problems[0],
      },
    ])
    expect(infos.at(-1)).toMatchObject({ status: 'PARTIAL_SUCCESS' })
  })

  test.each([{ finishedAtMs: 5 }, undefined])(
    'is left alone once another process has finished or removed it: %j',
    async (changes) => {
      const { regulations, store, create } = makeRegulations()
      store.answers.push('waiting')
      const id = await create()
      await regulations.idle()
      const steps = store.steps.filter((step) => step.startsWith('finish'))
      if (changes === undefined) store.find = () => Promise.resolve(undefined)
      else store.change(id, changes)
      await regulations.idle()
      expect(store.steps.filter((step) => step.startsWith('finish'))).toEqual(steps)
    },
  )
})

describe('Regulations that were not finished', () => {
  test('are resumed at the start, the oldest first, without repeating what is done', async () => {
    const store = new KeptRegulations()
    const ids = Array.from({ length: 45 }, (_, n) => `reg_${n}`)
    for (const id of ids) store.put({ ...notBegun, id })
    store.change('reg_3', { finishedAtMs: 3 })
    store.change('reg_4', { archive: nothingArchived })
    const { regulations, archiveRequests } = makeRegulations({ store })
    await regulations.start()
    await regulations.idle()
    const remaining = ids.filter((id) => id !== 'reg_3')
    const finished = store.steps.filter((step) => step.startsWith('finish'))
    expect(finished).toEqual(remaining.map((id) => `finish ${id}`))
    expect(archiveRequests).toHaveLength(43)
  })

  test('are not run twice if a start finds them again', async () => {
    const { regulations, store, create } = makeRegulations()
    for (let n = 0; n < 2; n++) {
      store.answers.push('waiting')
      store.waiting.add(await create())
    }
    await regulations.idle()
    const { length: before } = store.erased
    await regulations.start()
    await regulations.idle()
    expect(store.erased).toHaveLength(before + 2)
  })

  test('are resumed after an earlier run ended while erasing archives', async () => {
    const store = new KeptRegulations()
    const ended = makeRegulations({
      store,
      eraseArchives: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error))
        }),
    })
    const id = await ended.create()
    await ended.clock.advance(0)
    expect(ended.archiveRequests).toHaveLength(1)
    await ended.regulations.close()
    expect([store.get(id).archive, ended.warnings]).toEqual([null, []])
    const { regulations } = makeRegulations({ store })
    await regulations.start()
    await regulations.idle()
    expect(store.get(id)).toMatchObject({ archive: nothingArchived, finishedAtMs: nowMs })
  })
})

describe('An error of the store', () => {
  test.each(['erase', 'noteArchive', 'finish'] as const)(
    'that is temporary is retried at the next check: %s',
    async (method) => {
      const { regulations, store, create, clock, warnings, archiveRequests } = makeRegulations()
      store.failures[method] = [outage, outage]
      const ids = [await create(), await create()]
      let isIdle = false
      const idle = regulations.idle().then(() => (isIdle = true))
      await clock.advance(500)
      expect(isIdle).toBe(false)
      await clock.advance(1_500)
      await idle
      for (const id of ids) expect(store.get(id).finishedAtMs).not.toBeNull()
      expect(warnings).toEqual([
        { message: 'regulations are waiting for the store', error: 'No room' },
      ])
      expect(archiveRequests).toHaveLength(2)
      expect(clock.nextDueMs()).toBeUndefined()
    },
  )

  test('that is permanent stops only its regulation, until the next start', async () => {
    const { regulations, store, create, warnings, clock } = makeRegulations()
    store.failures.erase = [new Error('It is damaged')]
    const broken = await create()
    const other = await create()
    await regulations.idle()
    await clock.advance(5_000)
    expect([store.get(broken).finishedAtMs, store.get(other).finishedAtMs]).toEqual([null, nowMs])
    expect(warnings).toEqual([
      {
        message: 'a regulation failed; it is retried at the next start',
        regulation: broken,
        error: 'It is damaged',
      },
    ])
    await regulations.start()
    await regulations.idle()
    expect(store.get(broken).finishedAtMs).not.toBeNull()
  })

  test('is thrown by start', async () => {
    const { regulations, store } = makeRegulations()
    store.list = () => Promise.reject(outage)
    await expect(regulations.start()).rejects.toBe(outage)
  })
})

describe('Closing regulations', () => {
  test('waits for the current step, and starts no other', async () => {
    const { opened, open } = gate()
    const { regulations, store, create, clock } = makeRegulations()
    const erase = store.erase.bind(store)
    store.erase = async (request) => {
      await opened
      return erase(request)
    }
    store.answers.push('more')
    await create()
    await create()
    const idle = regulations.idle()
    let isClosed = false
    const closed = regulations.close().then(() => (isClosed = true))
    await clock.advance(10_000)
    expect(isClosed).toBe(false)
    open()
    await closed
    await idle
    await regulations.idle()
    await regulations.close()
    expect(store.steps).toHaveLength(1)
    expect(store.steps[0]).toMatch(/^erase/)
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('leaves no timer behind for a waiting regulation', async () => {
    const { regulations, store, create, clock } = makeRegulations()
    store.answers.push('waiting', 'waiting')
    await create()
    await regulations.idle()
    expect(clock.nextDueMs()).toBe(nowMs + 1_000)
    await regulations.close()
    expect(clock.nextDueMs()).toBeUndefined()
  })
})
