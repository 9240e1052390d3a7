import { describe, expect, it } from 'vitest'
import { previewRemoval, removeAudience, type RemovalOutcome } from '../../src/audience/index.ts'
import { MemoryStore } from '../support/memory-store.ts'
import {
  deliver,
  listening,
  membersOf,
  nowMs,
  rowsOf,
  shoppers,
  sync,
  syncOptions,
  type Heard,
} from './support.ts'

async function setting(members: number): Promise<{
  readonly store: MemoryStore
  readonly remove: (
    options?: Partial<Parameters<typeof removeAudience>[0]>,
  ) => Promise<{ readonly outcome: RemovalOutcome } & Heard>
}> {
  const store = new MemoryStore()
  const means = syncOptions({ store: store.audiences, rows: rowsOf('') })
  const list = `id\n${Array.from({ length: members }, (_, index) => `u${index}\n`).join('')}`
  await sync({ ...means, list })
  await deliver(store)
  const remove = async (
    options: Partial<Parameters<typeof removeAudience>[0]> = {},
  ): Promise<{ readonly outcome: RemovalOutcome } & Heard> => {
    const heard = listening()
    const { listener } = heard
    const outcome = await removeAudience({ ...means, listener, ...options })
    return { outcome, ...heard }
  }
  return { store, remove }
}

const audience = { ...shoppers, createdAtMs: nowMs, syncedAtMs: nowMs }

describe('the removal of an audience', () => {
  it('sends a call for every member that leaves, and deletes the audience', async () => {
    const { store, remove } = await setting(1_500)
    const { outcome, changes, progress } = await remove()
    expect(outcome).toEqual({ kind: 'removed', audience: { ...audience, members: 0 }, left: 1_500 })
    expect(changes).toHaveLength(1_500)
    expect(changes.every(({ value }) => value === null)).toBe(true)
    expect(progress.map(({ left }) => left)).toEqual([1_000, 1_500])
    expect(await store.audiences.list()).toEqual([])
    const bodies = await deliver(store)
    expect(bodies).toHaveLength(1_500)
    expect(bodies.every((body) => body.includes('"first_time_shopper":false'))).toBe(true)
  })

  it('reports who would leave in a dry run, and does nothing else', async () => {
    const { store } = await setting(1_500)
    const { listener, changes, progress } = listening()
    const means = syncOptions({ store: store.audiences, rows: rowsOf('id\n'), listener })
    const outcome = await previewRemoval(means)
    expect(outcome).toEqual({
      kind: 'removed',
      audience: { ...audience, members: 1_500 },
      left: 1_500,
    })
    expect(changes).toHaveLength(1_500)
    expect(progress.map(({ left }) => left)).toEqual([999, 1_499, 1_500])
    expect((await membersOf(store.audiences, shoppers.key)).size).toBe(1_500)
    expect(await deliver(store)).toEqual([])
  })

  it('counts a user with several identifiers once, also in a dry run', async () => {
    const { store, remove } = await setting(0)
    const users = Array.from({ length: 500 }, (_, user) => [
      `u${user},a`,
      `u${user},b`,
      `,c${user}`,
    ])
    const list = `id,anonymousId\n${users.flat().join('\n')}\n`
    await sync({ ...syncOptions({ store: store.audiences, rows: rowsOf('') }), list })
    const { listener, changes } = listening()
    const means = syncOptions({ store: store.audiences, rows: rowsOf('id\n'), listener })
    const planned = await previewRemoval(means)
    const { outcome, changes: made } = await remove()
    expect(outcome.left).toBe(1_000)
    expect(planned.left).toBe(1_000)
    expect(changes).toEqual(made)
  })

  it('can be interrupted; the next removal continues', async () => {
    const { store, remove } = await setting(1_500)
    const answers = [true, false]
    const hasRoom = (): Promise<boolean> => Promise.resolve(answers.shift() ?? true)
    const { outcome } = await remove({ hasRoom })
    expect(outcome).toMatchObject({ kind: 'ended', audience: { members: 500 }, left: 1_000 })
    expect((await remove()).outcome).toMatchObject({ kind: 'removed', left: 500 })
    expect(await deliver(store)).toHaveLength(1_500)
  })

  it('does nothing to a newer audience with the same key', async () => {
    const { store, remove } = await setting(3)
    const other = { ...shoppers, sourceId: 'app' }
    expect((await remove({ audience: other })).outcome).toMatchObject({ kind: 'superseded' })
    const hasRoom = async (): Promise<boolean> => {
      await store.audiences.begin({ audience: shoppers, nowMs })
      return true
    }
    expect((await remove({ hasRoom })).outcome).toMatchObject({ kind: 'superseded', left: 0 })
    expect((await membersOf(store.audiences, shoppers.key)).size).toBe(3)
    expect(await deliver(store)).toEqual([])
  })
})
