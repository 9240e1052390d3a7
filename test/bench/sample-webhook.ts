import { randomUUID } from 'node:crypto'
import { systemClock } from '../../dist/runtime/index.js'

/** What webhooks are signed with. */
export const sampleSecret = 'not-a-real-secret'

const note = 'x'.repeat(300)

/** A messageId as Segment's clients make them: they begin with the time. */
export function sampleMessageId(): string {
  return `node-next-${systemClock.nowMs()}-${randomUUID()}`
}

/** A call as most are: its event has a few properties. */
export function sampleCall(messageId: string): Readonly<Record<string, unknown>> {
  return {
    type: 'track',
    userId: 'user-1',
    event: 'Order Completed',
    properties: { total: 39.95, currency: 'EUR', note },
    context: {},
    timestamp: '2026-01-02T03:04:05.678Z',
    messageId,
  }
}

/**
 * The body of the webhook that {@link sampleCall} becomes, byte for byte. Written out once more: on Node 20
 * spreading the call would slow the bare loop down, and flatter evroute beside it.
 */
export function sampleBody(messageId: string): string {
  return JSON.stringify({
    version: 1,
    type: 'track',
    userId: 'user-1',
    event: 'Order Completed',
    properties: { total: 39.95, currency: 'EUR', note },
    context: {},
    timestamp: '2026-01-02T03:04:05.678Z',
    messageId,
  })
}
