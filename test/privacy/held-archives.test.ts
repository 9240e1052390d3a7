import { describe, expect, test } from 'vitest'
import { gate } from '../support/gate.ts'
import { KeptRegulations, notBegun } from './kept-regulations.ts'
import { makeRegulations, nothingArchived, outage } from './made-regulations.ts'

describe('Archives', () => {
  test('are held from before a regulation is stored until they are erased', async () => {
    const { opened, open } = gate()
    const erased = gate()
    const { regulations, store, create } = makeRegulations({
      endReplays: () => opened,
      eraseArchives: () => erased.opened.then(() => nothingArchived),
    })
    expect(regulations.holdsArchives).toBe(false)
    const created = create()
    await Promise.resolve()
    expect([regulations.holdsArchives, store.created]).toEqual([true, []])
    open()
    const id = await created
    expect(regulations.holdsArchives).toBe(true)
    erased.open()
    await regulations.idle()
    expect(regulations.holdsArchives).toBe(false)
    expect(store.get(id).archive).toEqual(nothingArchived)
  })

  test('are not held by a regulation that erases nothing in them, or that could not be stored', async () => {
    const { regulations, store, create } = makeRegulations({
      endReplays: () => Promise.reject(new Error('No replay has to end')),
    })
    await create({ type: 'SUPPRESS_ONLY' })
    expect(regulations.holdsArchives).toBe(false)
    store.failures.create = [outage]
    await expect(create()).rejects.toThrow('No replay has to end')
    expect(regulations.holdsArchives).toBe(false)
  })

  test('are held by regulations that an earlier run left unfinished', async () => {
    const store = new KeptRegulations()
    store.put({ ...notBegun, id: 'reg_1', archive: nothingArchived })
    const { regulations } = makeRegulations({ store })
    await regulations.start()
    expect(regulations.holdsArchives).toBe(false)
    store.put({ ...notBegun, id: 'reg_2' })
    await regulations.start()
    expect(regulations.holdsArchives).toBe(true)
    await regulations.idle()
    expect(regulations.holdsArchives).toBe(false)
  })
})
