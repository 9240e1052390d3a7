import { describe, expect, test } from 'vitest'
import { imbalances, type Ledger } from '../../src/model/index.ts'
import { runBinary } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { fixtureTable } from '../support/fixture-table.ts'
import { fixture } from '../support/fixtures.ts'

const files = fixtureTable().filter(({ file }) => /^(bad|good)\//.test(file))

describe('send --file', () => {
  test('finds the table of the fixtures', () => {
    expect(files.filter(({ badRows }) => badRows.length > 0).length).toBeGreaterThanOrEqual(14)
  })

  test.each(files)('delivers the good rows of $file and rejects the others', async (expected) => {
    const endpoint = await TestEndpoint.start()
    const argv = ['send', '--file', fixture(expected.file), '--to', endpoint.url, '--json']
    const { code, records, stderr } = await runBinary(argv)
    const { goodRows, badRows } = expected
    expect({ code, stderr }).toEqual({ code: badRows.length > 0 ? 3 : 0, stderr: '' })
    const rejected = records.filter(({ kind }) => kind === 'rejected')
    expect(rejected.map(({ line, code: reason }) => ({ line, code: reason }))).toEqual(badRows)
    expect(endpoint.requests).toHaveLength(goodRows)
    const summary = records.at(-1) as unknown as Ledger
    expect(summary).toMatchObject({
      kind: 'summary',
      read: goodRows + badRows.length,
      accepted: goodRows,
      rejected: badRows.length,
      delivered: goodRows,
    })
    expect(imbalances(summary)).toEqual([])
  })
})
