import { describe, expect, it } from 'vitest'
import {
  previewAudience,
  type Audience,
  type NewAudience,
  type SyncOutcome,
} from '../../src/audience/index.ts'
import { MemoryStore } from '../support/memory-store.ts'
import {
  deliver,
  listening,
  membersOf,
  nowMs,
  revenue,
  rowsOf,
  sync,
  syncOptions,
  type Heard,
} from './support.ts'

interface Setting {
  readonly store: MemoryStore
  readonly doSync: (list: string) => Promise<{ readonly outcome: SyncOutcome } & Heard>
  readonly preview: (
    list: string,
    audience?: NewAudience,
  ) => Promise<{ readonly outcome: SyncOutcome } & Heard>
}

function setting(): Setting {
  const store = new MemoryStore()
  const options = syncOptions({ store: store.audiences, rows: rowsOf(''), audience: revenue })
  return {
    store,
    doSync: (list) => sync({ ...options, list }),
    preview: async (list, audience = revenue) => {
      const heard = listening()
      const scratch = new MemoryStore()
      const outcome = await previewAudience({
        ...options,
        audience,
        rows: rowsOf(list),
        listener: heard.listener,
        scratch: scratch.audiences,
      })
      expect((await scratch.ledger()).deliveries).toBe(0)
      return { outcome, ...heard }
    },
  }
}

const first = `id,value\nu1,1\nu2,2\nu3,3\n${Array.from({ length: 1_200 }, (_, index) => `v${index},0\n`).join('')}`
const second = first.replace('u1,1\n', '').replace('u2,2', 'u2,5').replace('u3,3', 'u3,3\nu4,4')

describe('the preview of a sync', () => {
  it('reports what the sync would do, and writes nothing', async () => {
    const { store, doSync, preview } = setting()
    const none = await preview(first)
    expect(none.outcome).toMatchObject({ kind: 'synced', counts: { entered: 1_203 } })
    expect(await store.audiences.list()).toEqual([])

    await doSync(first)
    await deliver(store)
    const members = await membersOf(store.audiences, revenue.key)
    const previewed = await preview(second)
    expect(await membersOf(store.audiences, revenue.key)).toEqual(members)
    expect(await deliver(store)).toEqual([])

    const done = await doSync(second)
    expect(previewed.changes).toEqual(done.changes)
    expect(previewed.outcome).toEqual(done.outcome)
    expect(previewed.outcome).toMatchObject({
      kind: 'synced',
      counts: { entered: 1, changed: 1, left: 1, unchanged: 1_201 },
    })
  })

  it('reports how many stored members it has read', async () => {
    const { doSync, preview } = setting()
    await doSync(first)
    expect((await preview(second)).compared).toEqual([1_000, 1_203])
    expect((await doSync(second)).compared).toEqual([])
  })

  it('reports problems with the list', async () => {
    const { doSync, preview } = setting()
    await doSync('id,value\nu1,1\n')
    const { outcome, rejected } = await preview('id,value\nu2,1\nu2,2\n')
    expect(outcome).toMatchObject({ kind: 'incomplete', audience: { members: 2 } })
    expect(rejected.map(({ line, code }) => [line, code])).toEqual([[3, 'contradicts']])
    await expect(preview('name\nA\n')).rejects.toThrow('The list has no column')
  })

  it('shows the stored audience with its new name and members', async () => {
    const { store, doSync, preview } = setting()
    await doSync('id,value\nu1,1\n')
    const [kept] = await store.audiences.list()
    const renamed = { ...revenue, name: 'Revenue', computationId: 'trt_other' }
    const { outcome } = await preview('id,value\nu1,1\nu2,2\n', renamed)
    const audience: Audience = { ...kept!, name: 'Revenue', members: 2 }
    expect(outcome.audience).toEqual(audience)
    expect(kept?.createdAtMs).toBe(nowMs)
  })

  it('refuses a key that belongs to a different source or class', async () => {
    const { doSync, preview } = setting()
    await doSync('id,value\nu1,1\n')
    for (const other of [{ sourceId: 'app' }, { computationClass: 'audience' as const }]) {
      const { outcome } = await preview('id\nu1\n', { ...revenue, ...other })
      expect(outcome).toMatchObject({ kind: 'taken', audience: revenue })
    }
  })
})
