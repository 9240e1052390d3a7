import { randomUUID } from 'node:crypto'
import { systemClock } from '../../dist/runtime/index.js'

/** The secret that signs webhooks. */
export const sampleSecret = 'not-a-real-secret'

const note = 'x'.repeat(300)

/** A messageId in the form that Segment's clients use, which begins with the time. */
export function sampleMessageId(): string {
  return `node-next-${systemClock.nowMs()}-${randomUUID()}`
}

/** A typical call: an event with a few properties. */
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
 * The body of the webhook for {@link sampleCall}, byte for byte. It repeats the fields, because on Node 20
 * spreading the call would slow down the bare loop and flatter evroute.
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
