import { expect, test } from 'vitest'
import { plainStyle } from '../../../src/cli/output/style.ts'
import { planText } from '../../../src/cli/sending/report-text.ts'
import type { RoutingReason } from '../../../src/router/index.ts'

test.each<[RoutingReason, string]>([
  ['not_connected', 'would not be sent: the destination is not connected to this source'],
  ['destination_disabled', 'would not be sent: the destination is disabled'],
  [
    'historical_not_accepted',
    'would not be sent: the call is more than a day old, and acceptsHistorical is false',
  ],
])('explains %s, which no destination of the command line leads to', (reason, words) => {
  const decision = { destinationId: 'crm', send: false, reason, hint: undefined }
  const plan = { messageId: 'm_1', type: 'track', decision, urls: [], body: null, signature: null }
  expect(planText(plan, plainStyle)).toBe(`TRACK m_1\n  ${words}\n\n`)
})
