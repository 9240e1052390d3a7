/** What webhooks are signed with. */
export const sampleSecret = 'not-a-real-secret'

/** The body of a webhook as most are: its event has a few properties. */
export function sampleBody(messageId: string): string {
  return JSON.stringify({
    version: 1,
    type: 'track',
    userId: 'user-1',
    event: 'Order Completed',
    properties: { total: 39.95, currency: 'EUR', note: 'x'.repeat(300) },
    context: {},
    timestamp: '2026-01-02T03:04:05.678Z',
    messageId,
  })
}
