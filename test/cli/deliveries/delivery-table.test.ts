import { describe, expect, test } from 'vitest'
import { columnsOf } from '../../../src/model/index.ts'
import { hourMs, logged, nowMs } from './stores.ts'
import { cutId, deliveryTable } from '../../../src/cli/deliveries/show.ts'
import { waitsAt } from '../../../src/cli/deliveries/status.ts'
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
  return deliveryTable({ nowMs, waitOf, style, columns }).page(deliveries).split('\n').slice(0, -1)
}

describe('deliveryTable', () => {
  test('is aligned, and shortens nothing if lines may have any length', () => {
    expect(linesIn(undefined)).toEqual([
      'delivery               state      reason/next                        accepted  tries  user                  event     messageId',
      'to-0123456789ab/12345  pending    due for 1h                         1h ago        0  somebody@example.com  track     5e1b7f0a-9c3d-4e2a-8b17-000000000001',
      'crm/17                 delivered                                     1h ago        1  -                     identify  5e1b7f0a-9c3d-4e2a-8b17-000000000001',
      'crm/17                 failed     status_404                         1h ago       12  東京都千代田区丸の内  track     5e1b7f0a-9c3d-4e2a-8b17-000000000001',
      'crm/17                 expired    timeout, status_503, ECONNREFUSED  1h ago        9  u_1                   track     5e1b7f0a-9c3d-4e2a-8b17-000000000001',
      'crm/17                 pending    due in 4m                          0s ago        3  u_1                   track     5e1b7f0a-9c3d-4e2a-8b17-000000000001',
    ])
  })

  test('says that nothing is sent to a destination that is not configured', () => {
    const table = deliveryTable({ nowMs, waitOf: waitsAt(nowMs, []), style, columns: undefined })
    expect(table.page([logged({ reason: 'status_503' })])).toContain(
      ' pending  destination is no longer configured  ',
    )
  })

  test('names the event behind its type', () => {
    const named = logged({ eventName: 'Order \u001b[31mPaid' })
    const text = deliveryTable({ nowMs, waitOf, style, columns: undefined }).page([named])
    expect(text).toMatch(/ track Order \S*Paid {2}/)
    expect(text).not.toContain('\u001b')
  })

  test('drops and shortens columns to fit 80 columns', () => {
    expect(linesIn(80)).toEqual([
      'delivery            state      reason/next       accepted  tries  user',
      'to-01234567…/12345  pending    due for 1h        1h ago        0  somebody@exam…',
      'crm/17              delivered                    1h ago        1  -',
      'crm/17              failed     status_404        1h ago       12  東京都千代田…',
      'crm/17              expired    timeout, status…  1h ago        9  u_1',
      'crm/17              pending    due in 4m         0s ago        3  u_1',
    ])
  })

  test('drops and shortens columns to fit 60 columns', () => {
    expect(linesIn(60)).toEqual([
      'delivery            state      reason/next          accepted',
      'to-01234567…/12345  pending    due for 1h           1h ago',
      'crm/17              delivered                       1h ago',
      'crm/17              failed     status_404           1h ago',
      'crm/17              expired    timeout, status_50…  1h ago',
      'crm/17              pending    due in 4m            0s ago',
    ])
  })

  test('distinguishes deliveries to a destination with a long name at 80, 50 and 30 columns', () => {
    const destinationId = 'to-127.0.0.1-5005-a65053c5-and-a-name-that-is-long'
    const rows = [199_950, 199_951].map((id) => logged({ destinationId, id }))
    const tableAt = (columns: number) =>
      deliveryTable({ nowMs, waitOf, style, columns }).page(rows).split('\n')
    for (const columns of [80, 50, 30]) {
      expect(tableAt(columns)[1]).toMatch(/^to-127\S*…\/199950 /)
      expect(tableAt(columns)[2]).toMatch(/^to-127\S*…\/199951 /)
    }
  })

  test.each([30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160])(
    'fits into %d columns',
    (columns) => {
      const widths = linesIn(columns).map(columnsOf)
      expect(Math.max(...widths)).toBeLessThanOrEqual(columns)
    },
  )

  test('keeps the widths of its first page, and names the columns once', () => {
    const table = deliveryTable({ nowMs, waitOf, style, columns: undefined })
    const [delivery] = deliveries
    expect(table.page([logged()]).split('\n')).toHaveLength(3)
    const [line] = table.page([delivery!]).split('\n')
    expect(line).toMatch(/^to-0123456789ab\/12345 {2}pending/)
    expect(table.page([])).toBe('')
  })
})

test('a shortened id keeps its number', () => {
  expect(cutId('crm/17', 6)).toBe('crm/17')
  expect(cutId('a/b/c/17', 7)).toBe('a/b…/17')
  expect(cutId('warehouse/199950', 10)).toBe('wa…/199950')
  expect(cutId('warehouse/199950', 8)).toBe('199950')
})
