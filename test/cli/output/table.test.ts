import { describe, expect, test } from 'vitest'
import { colorStyle, plainStyle } from '../../../src/cli/output/style.ts'
import { textTable, type TableColumn } from '../../../src/cli/output/table.ts'

interface Row {
  readonly key: string
  readonly count: number
  readonly name: string
}

const tableColumns: readonly TableColumn<Row>[] = [
  { title: 'key', text: ({ key }) => key, columnsMin: 6 },
  { title: 'count', text: ({ count }) => String(count), isCount: true },
  { title: 'name', text: ({ name }) => name },
]
const rows: readonly Row[] = [
  { key: 'first_time_shopper', count: 7, name: 'First-Time\u001b[31m Shopper' },
  { key: 'vip', count: 12_345_678, name: '' },
]

const linesAt = (columns: number | undefined): readonly string[] =>
  textTable(rows, tableColumns, { style: plainStyle, columns }).split('\n')

describe('textTable', () => {
  test('has no control characters, and is as wide as its texts if lines may have any length', () => {
    expect(linesAt(undefined)).toEqual([
      'key                    count  name',
      'first_time_shopper         7  First-Time Shopper',
      'vip                 12345678',
      '',
    ])
  })

  test('can have more rows than a function can have arguments', () => {
    const many = Array.from({ length: 150_000 }, () => rows[1]!)
    const text = textTable(many, tableColumns, { style: plainStyle, columns: 80 })
    expect(text.split('\n')).toHaveLength(150_002)
  })

  test('narrows the widest columns, then drops the last ones, and keeps the first', () => {
    expect(linesAt(30)).toEqual([
      'key           count  name',
      'first_ti…         7  First-Ti…',
      'vip        12345678',
      '',
    ])
    expect(linesAt(20)).toEqual([
      'key            count',
      'first_tim…         7',
      'vip         12345678',
      '',
    ])
    expect(linesAt(8)).toEqual(['key', 'first_t…', 'vip', ''])
    expect(linesAt(2)).toEqual(['k…', 'f…', 'v…', ''])
  })

  test('colours texts, but not the padding around them', () => {
    const columns: readonly TableColumn<Row>[] = [
      { title: 'n', text: ({ count }) => String(count), isCount: true, look: 'bad' },
      { title: 'key', text: ({ key }) => key, look: ({ count }) => (count > 9 ? 'good' : 'faint') },
    ]
    const text = textTable(rows, columns, { style: colorStyle(), columns: undefined })
    expect(text.split('\n')[1]).toBe(
      '       \u001b[31m7\u001b[39m  \u001b[2mfirst_time_shopper\u001b[22m',
    )
  })
})
