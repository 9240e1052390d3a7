import { expect, test } from 'vitest'
import { colorStyle, plainStyle } from '../../../src/cli/output/style.ts'
import { summaryLine } from '../../../src/cli/sending/report-text.ts'

const ledger = {
  read: 1_234,
  accepted: 1_230,
  rejected: 4,
  routed: 1_000,
  filtered: 100,
  duplicate: 100,
  suppressed: 30,
  deliveries: 1_000,
  delivered: 900,
  failed: 50,
  expired: 30,
  pending: 20,
}

test('the summary has three equations that a reader can check', () => {
  expect(summaryLine(ledger, 1_500, { style: plainStyle })).toBe(
    '1,234 read = 1,230 accepted + 4 rejected · ' +
      '1,230 accepted = 1,000 routed + 100 filtered + 100 duplicate + 30 suppressed · ' +
      '1,000 deliveries = 900 delivered + 50 failed + 30 expired + 20 pending (1.5s)\n',
  )
})

test('the summary colours counts that are not zero', () => {
  const line = summaryLine({ ...ledger, delivered: 0 }, 1, { style: colorStyle() })
  expect(line).toContain('0 delivered + \u001b[31m50 failed')
})
