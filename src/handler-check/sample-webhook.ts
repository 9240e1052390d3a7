import {
  evrouteVersion,
  isJsonObject,
  sampleCall,
  type AnalyticsEvent,
  type EventType,
  type JsonObject,
} from '../model/index.ts'
import { buildWebhookBody } from '../webhook/index.ts'

/** What can differ between sample webhooks. */
export interface SampleWebhook {
  readonly type: EventType
  readonly messageId: string
  readonly nowMs: number
  /** Members to add to the context. A delete has no context. */
  readonly context?: JsonObject | undefined
}

/** The user in all webhooks of a check. */
export const sampleUserId = 'u_sample'

/** The page in the samples. Its slashes reveal the encoder of a handler that serialises the body again. */
const pageContext = { url: 'https://shop.example.com/orders/1' }

/** Makes the body of a sample webhook, as a service would send it. */
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
  // The cast is safe: a sample has exactly the fields of an accepted call.
  return buildWebhookBody(event as unknown as AnalyticsEvent, 'spec')
}
