import {
  evrouteVersion,
  isJsonObject,
  sampleCall,
  type AnalyticsEvent,
  type EventType,
  type JsonObject,
} from '../model/index.ts'
import { buildWebhookBody } from '../webhook/index.ts'

/** What a sample webhook is made of. */
export interface SampleWebhook {
  readonly type: EventType
  readonly messageId: string
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** Added to its context. A delete has none. */
  readonly context?: JsonObject | undefined
}

/** The user of all webhooks of a check. */
export const sampleUserId = 'u_sample'

/** In ASCII and with a slash: the slash tells encoders apart, and other characters have a case of their own. */
const pageContext = { url: 'https://shop.example.com/orders/1' }

/** The body of a sample webhook as the service writes it. */
export function webhookText({ type, messageId, nowMs, context }: SampleWebhook): string {
  const call = sampleCall(type)
  const own = isJsonObject(call['context']) ? call['context'] : {}
  const library = { name: 'evroute', version: evrouteVersion }
  const event = {
    ...call,
    type,
    messageId,
    timestamp: new Date(nowMs).toISOString(),
    context: { ...own, library, page: pageContext, ...context },
  }
  // A sample has exactly the fields of an accepted call of its type.
  return buildWebhookBody(event as unknown as AnalyticsEvent, 'spec')
}
