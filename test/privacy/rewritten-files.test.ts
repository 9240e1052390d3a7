import { describe, expect, test } from 'vitest'
import { makeRegulations, nothingArchived, outage } from './made-regulations.ts'
import { nowMs } from '../intake/support.ts'

describe('The rewriting of files', () => {
  const heldUp = { kind: 'held_up', reason: 'No room', hint: 'Make room' } as const

  test('begins after everything else is done for all regulations that are due', async () => {
    const { regulations, store, create } = makeRegulations()
    store.hasFiles = true
    const ids = [await create(), await create(), await create()]
    await regulations.idle()
    const of = (word: string) => ids.map((id) => `${word} ${id}`)
    expect(store.steps.filter((step) => /^(erase|rewrite)/.test(step))).toEqual([
      ...of('erase'),
      ...of('rewrite'),
    ])
    for (const id of ids) expect(store.get(id).finishedAtMs).toBe(nowMs)
  })

  test('holds up no other regulation while it is impossible, and is tried less and less often', async () => {
    const { regulations, store, create, clock, warnings, archiveRequests } = makeRegulations()
    store.hasFiles = true
    store.heldUp = heldUp
    const ids = [await create(), await create()]
    await regulations.idle()
    expect(store.get(ids[0]!).archive).toEqual(nothingArchived)
    const triedAtMs: number[] = []
    let tries = 0
    const erase = store.erase.bind(store)
    store.erase = (request) => {
      tries++
      if (request.leavesTraces !== true) triedAtMs.push(request.nowMs - nowMs)
      return erase(request)
    }
    await clock.advance(1_000 * 60)
    expect(triedAtMs.map((ms) => ms / 1_000)).toEqual([1, 3, 7, 15, 31])
    // Nothing else is tried meanwhile.
    expect(tries).toBe(5)
    store.hasFiles = false
    store.heldUp = undefined
    const other = await create({ type: 'DELETE_ARCHIVE_ONLY' })
    await regulations.idle()
    expect(store.get(other).finishedAtMs).toBe(nowMs + 60_000)
    expect(ids.map((id) => store.get(id).finishedAtMs)).toEqual([null, null])
    expect(archiveRequests).toHaveLength(3)
    await clock.advance(3_000)
    for (const id of ids) expect(store.get(id).finishedAtMs).toBe(nowMs + 63_000)
    expect(clock.nextDueMs()).toBeUndefined()
    expect(warnings).toHaveLength(1)
  })

  test('is reported at most every ten minutes while it is impossible, with what to do', async () => {
    const { regulations, store, create, clock, warnings } = makeRegulations()
    store.hasFiles = true
    store.heldUp = heldUp
    await create()
    await regulations.idle()
    const message = "regulations wait until the store's files can be rewritten"
    const warning = { message, regulations: 1, reason: 'No room', hint: 'Make room' }
    expect(warnings).toEqual([warning])
    await clock.advance(1_022_000)
    expect(warnings).toHaveLength(1)
    // The first try after ten minutes reports it again.
    await clock.advance(2_000)
    expect(warnings).toEqual([warning, warning])
    const { length: before } = store.steps
    await clock.advance(6_000_000)
    expect(store.steps).toHaveLength(before + 10)
  })

  test('lets the regulation finish after a temporary error of the store', async () => {
    const { regulations, store, create, clock } = makeRegulations()
    store.hasFiles = true
    store.failures.finish = [outage]
    const id = await create()
    const idle = regulations.idle()
    await clock.advance(500)
    await clock.advance(1_500)
    await idle
    expect(store.steps.filter((step) => step === `finish ${id}`)).toHaveLength(1)
    expect(store.get(id).finishedAtMs).not.toBeNull()
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('is not tried again by another start', async () => {
    const { regulations, store, create } = makeRegulations()
    store.hasFiles = true
    store.heldUp = heldUp
    await create()
    await regulations.idle()
    const { length: before } = store.steps
    await regulations.start()
    await regulations.idle()
    expect(store.steps).toHaveLength(before)
  })
})
