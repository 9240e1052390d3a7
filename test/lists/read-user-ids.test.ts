import { describe, expect, it } from 'vitest'
import { readUserIds } from '../../src/lists/index.ts'
import { SettingError } from '../../src/model/index.ts'
import { inChunks } from '../importer/support.ts'

/** Summarises the rows of a list of users: the line, and the ids or the code. */
async function read(text: string, columns?: readonly string[]): Promise<readonly unknown[]> {
  const rows: unknown[] = []
  for await (const group of readUserIds(inChunks(Buffer.from(text)), columns)) {
    rows.push(...group.map((row) => [row.line, row.kind === 'ids' ? row.userIds : row.code]))
  }
  return rows
}

describe('a list of users', () => {
  it('is CSV, NDJSON or a JSON array', async () => {
    const ids = [['u1'], ['2']]
    expect(await read('name,user_id\nA,u1\nB, 2 \n')).toEqual([
      [2, ids[0]],
      [3, ids[1]],
    ])
    expect(await read('{"id":"u1"}\n{"userId":2,"id":"x"}\n')).toEqual([
      [1, ids[0]],
      [2, ids[1]],
    ])
    expect(await read('[{"id":["u1",2]}]')).toEqual([[1, ['u1', '2']]])
  })

  it('has its ids in the configured columns', async () => {
    expect(await read('a,id,b\nu1,x,u2\nu3,x,\n', ['a', 'b'])).toEqual([
      [2, ['u1', 'u2']],
      [3, ['u3']],
    ])
  })

  it('rejects rows without a user or with an invalid id', async () => {
    const text =
      '{"id":null}\n{"name":"A"}\n{"id":true}\n{"id":[["x"]]}\n{"id":9007199254740993}\nx\n' +
      `{"id":"${'x'.repeat(32_769)}"}\n{"id":"${'x'.repeat(32_768)}"}\n`
    const rows = await read(text)
    expect(rows.slice(0, -1)).toEqual([
      [1, 'no_user_id'],
      [2, 'no_user_id'],
      [3, 'wrong_type'],
      [4, 'wrong_type'],
      [5, 'wrong_type'],
      [6, 'invalid_json'],
      [7, 'event_too_large'],
    ])
    expect(rows).toHaveLength(8)
  })

  it('is refused if it lacks the configured columns', async () => {
    const message = (text: string, columns?: readonly string[]): Promise<unknown> =>
      read(text, columns).catch((error: unknown) =>
        error instanceof SettingError ? [error.setting, error.message, error.hint] : error,
      )
    expect(await message('name,mail\nA,b\n')).toEqual([
      'idColumn',
      'The list has no column userId, user_id or id: it has "name", "mail"',
      'Name the column that contains the ids with --id-column (idColumn in the admin API).',
    ])
    expect(await message('customer,id\nA,b\n', ['custoner'])).toEqual([
      'idColumn',
      'The list has no column "custoner": it has "customer", "id"',
      'Did you mean "customer"? Name one of these columns with --id-column (idColumn in the admin API).',
    ])
    expect(await message('{"customer":"A"}\n{"custoner":"B"}\n', ['custoner'])).toEqual([
      [1, 'no_user_id'],
      [2, ['B']],
    ])
    expect(await message('{"customer":"A"}\n', ['other'])).toEqual([
      'idColumn',
      'The list has no column "other": it has "customer"',
      'Name one of these columns with --id-column (idColumn in the admin API).',
    ])
    expect(await message('[]', ['other'])).toEqual([])
  })

  it('is refused if it has no header', async () => {
    await expect(read('\n')).rejects.toThrow("The list is empty: it doesn't even have a header")
  })
})
