import { expect, onTestFinished, test } from 'vitest'
import { rowKinds } from '../../../src/store/migration/row-kinds.ts'
import { pageSql } from '../../../src/store/migration/sqlite-export.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { newPath } from '../sqlite/store-calls.ts'

// The figures are made of a few rows, which are read at once.
const long = rowKinds.filter(({ name }) => name !== 'counts')

test.each(long.map((kind) => [kind.name, kind] as const))(
  'a page of %s is found where the one before ended',
  async (_name, kind) => {
    const path = await newPath()
    await (await SqliteStore.open(path)).close()
    const database = await openDatabase(path, 'read')
    onTestFinished(() => database.close())
    const sql = pageSql(
      kind,
      kind.key.map(() => 0),
    )
    const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as readonly Step[]
    const [first, ...others] = steps.map(({ detail }) => detail)
    const places = kind.key.length === 1 ? '\\(\\w+>\\?\\)' : `\\(\\([\\w,]+\\)>\\([?,]+\\)\\)`
    expect(first).toMatch(new RegExp(`^SEARCH \\w+ USING .*${places}$`))
    expect(others.filter((detail) => detail.startsWith('USE TEMP'))).toEqual([])
  },
)

interface Step {
  readonly detail: string
}
