import { describe, expect, test } from 'vitest'
import { columnsOf } from '../../../src/model/index.ts'
import { hourMs, logged, nowMs } from './stores.ts'
import {
  DeliveryTable,
  columnNames,
  fitWidths,
} from '../../../src/cli/deliveries/delivery-table.ts'
import { plainStyle } from '../../../src/cli/output/style.ts'

const style = plainStyle
const waitOf = () => undefined

const deliveries = [
  logged({ destinationId: 'to-0123456789ab', id: 12_345, userId: 'somebody@example.com' }),
  logged({ state: 'delivered', dueAtMs: null, attempts: 1, type: 'identify', userId: null }),
  logged({
    state: 'failed',
    dueAtMs: null,
    reason: 'status_404',
    attempts: 12,
    userId: '東京都千代田区丸の内',
  }),
  logged({
    state: 'expired',
    dueAtMs: null,
    reason: 'timeout, status_503, ECONNREFUSED',
    attempts: 9,
  }),
  logged({
    lane: 'retry',
    dueAtMs: nowMs + 4.5 * 60_000,
    attempts: 3,
    acceptedAtMs: nowMs + hourMs,
  }),
]

function linesIn(columns: number | undefined): readonly string[] {
  return new DeliveryTable({ nowMs, waitOf, style, columns })
    .page(deliveries)
    .split('\n')
    .slice(0, -1)
}

describe('DeliveryTable', () => {
  test('is aligned and whole where lines may be of any length', () => {
    expect(linesIn(undefined)).toEqual([
      'delivery               state      type      user                  messageId                             tries  accepted  why or next',
      'to-0123456789ab/12345  pending    track     somebody@example.com  5e1b7f0a-9c3d-4e2a-8b17-000000000001      0  1h ago    due for 1h',
      'crm/17                 delivered  identify  -                     5e1b7f0a-9c3d-4e2a-8b17-000000000001      1  1h ago',
      'crm/17                 failed     track     東京都千代田区丸の内  5e1b7f0a-9c3d-4e2a-8b17-000000000001     12  1h ago    status_404',
      'crm/17                 expired    track     u_1                   5e1b7f0a-9c3d-4e2a-8b17-000000000001      9  1h ago    timeout, status_503, ECONNREFUSED',
      'crm/17                 pending    track     u_1                   5e1b7f0a-9c3d-4e2a-8b17-000000000001      3  0s ago    next in 4m',
    ])
  })

  test('leaves out and shortens what 80 columns have no room for', () => {
    expect(linesIn(80)).toEqual([
      'delivery               state      user      tries  accepted  why or next',
      'to-0123456789ab/12345  pending    somebod…      0  1h ago    due for 1h',
      'crm/17                 delivered  -             1  1h ago',
      'crm/17                 failed     東京都…      12  1h ago    status_404',
      'crm/17                 expired    u_1           9  1h ago    timeout, status_50…',
      'crm/17                 pending    u_1           3  0s ago    next in 4m',
    ])
  })

  test('leaves out and shortens what 60 columns have no room for', () => {
    expect(linesIn(60)).toEqual([
      'delivery               state      accepted  why or next',
      'to-0123456789ab/12345  pending    1h ago    due for 1h',
      'crm/17                 delivered  1h ago',
      'crm/17                 failed     1h ago    status_404',
      'crm/17                 expired    1h ago    timeout, status…',
      'crm/17                 pending    0s ago    next in 4m',
    ])
  })

  test.each([30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160])(
    'fits into %d columns',
    (columns) => {
      const widths = linesIn(columns).map(columnsOf)
      expect(Math.max(...widths)).toBeLessThanOrEqual(columns)
    },
  )

  test('keeps the widths of its first page, and names the columns once', () => {
    const table = new DeliveryTable({ nowMs, waitOf, style, columns: undefined })
    const [delivery] = deliveries
    expect(table.page([logged()]).split('\n')).toHaveLength(3)
    const [line] = table.page([delivery!]).split('\n')
    expect(line).toMatch(/^to-0123456789ab\/12345 {2}pending/)
    expect(table.page([])).toBe('')
  })
})

describe('fitWidths', () => {
  const wanted = {
    id: 22,
    state: 9,
    type: 8,
    user: 24,
    message: 36,
    tries: 5,
    accepted: 8,
    outlook: 40,
  }

  test('never takes more than there is, nor gives more than is wanted', () => {
    for (let columns = 27; columns < 200; columns++) {
      const widths = fitWidths(wanted, columns)
      const shown = columnNames.filter((name) => widths[name] > 0)
      const total = shown.reduce((sum, name) => sum + widths[name], 0) + 2 * (shown.length - 1)
      expect(total, `${columns}`).toBeLessThanOrEqual(columns)
      for (const name of columnNames) expect(widths[name]).toBeLessThanOrEqual(wanted[name])
      expect(shown).toContain('id')
      expect(shown).toContain('state')
    }
  })

  test('takes nothing where there is room', () => {
    expect(fitWidths(wanted, Infinity)).toEqual(wanted)
    expect(fitWidths(wanted, 166)).toEqual(wanted)
    expect(fitWidths(wanted, 165)).toEqual({ ...wanted, message: 35 })
  })
})
