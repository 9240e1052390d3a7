import { expect, test } from 'vitest'
import { StoredAudiences } from '../../../src/store/audiences/stored-audiences.ts'
import type { SqlDatabase } from '../../../src/store/sql.ts'
import { dialect } from '../../../src/store/sqlite/dialect.ts'
import { member, vip } from '../../conformance/audience-store-under-test.ts'
import { nowMs } from '../../conformance/store-under-test.ts'

const vipRow = {
  id: 1,
  key: 'vip',
  name: 'VIP',
  computationClass: 'audience',
  computationId: 'c_vip',
  sourceId: 'website',
}

/** A database in which a different process begins a sync of the audience right after this one. */
class SupersedingDatabase implements SqlDatabase {
  readonly dialect = dialect
  changes = 0

  change: SqlDatabase['change'] = (script) => {
    this.changes++
    return this.read(script)
  }

  read: SqlDatabase['read'] = (script) => {
    const statements = script()
    let step = statements.next()
    while (step.done !== true) {
      step = statements.next(step.value.sql.includes('INSERT') ? [vipRow] : [])
    }
    return Promise.resolve(step.value)
  }
}

test.each(['take', 'release'] as const)(
  'a sync that a different process has superseded is forgotten: %s',
  async (method) => {
    const database = new SupersedingDatabase()
    const audiences = new StoredAudiences({
      database,
      addEvents: () => {
        throw new Error('no event is added')
      },
      notify: () => undefined,
    })
    const begun = await audiences.begin({ audience: vip, nowMs })
    if (begun.kind !== 'begun') throw new Error('the key is taken')
    const request = {
      key: 'vip',
      sync: begun.sync,
      nowMs,
      seenSinceMs: 0,
      plan: { changes: [], events: [] },
    }
    const work = () =>
      method === 'take'
        ? audiences.take({ ...request, members: [member('u_1')] })
        : audiences.release({ ...request, rowsMax: 10, after: null })
    expect(await work()).toEqual({ kind: 'superseded' })
    expect(database.changes).toBe(2)
    // The members that its list has named are gone from memory, so the database is not asked again.
    expect(await work()).toEqual({ kind: 'superseded' })
    expect(database.changes).toBe(2)
  },
)
