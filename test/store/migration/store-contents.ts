import type { Store, StoreLog } from '../../../src/store/index.ts'
import { nowMs } from '../../conformance/store-under-test.ts'

/** Returns everything that a store shows through its ports. */
export async function contentsOf(store: Store | StoreLog): Promise<object> {
  const listed = await store.list({ filter: {}, limit: 100_000 })
  const stories = []
  for (const delivery of listed) stories.push(await store.story(delivery))
  const ids = [...new Set(listed.map(({ destinationId }) => destinationId))].sort()
  const { ledger, ...audit } = await store.audit()
  const ofDestinations = []
  if ('ledger' in store) {
    for (const destinationId of ids) ofDestinations.push(await store.ledger({ destinationId }))
  }
  const audiences = await store.audiences.list()
  const members = []
  for (const { key } of audiences) {
    members.push(sorted(await store.audiences.members({ key, after: null, limit: 1_000 })))
  }
  const stable = <Row extends { destinationId: string; id: number }>(rows: readonly Row[]): Row[] =>
    rows.toSorted((a, b) =>
      a.id === b.id ? (a.destinationId < b.destinationId ? -1 : 1) : b.id - a.id,
    )
  return {
    listed: stable(listed),
    stories: stable(stories.filter((story) => story !== undefined)),
    ledger,
    audit,
    audiences,
    members,
    regulations: await store.regulations.list({ limit: 100 }),
    ofDestinations,
    nextDue: 'nextDue' in store ? sorted(await store.nextDue({ nowMs, destinationIds: ids })) : [],
  }
}

function sorted<Value>(values: readonly Value[]): readonly Value[] {
  return values.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}
