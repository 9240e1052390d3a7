import { callTypes, type CallType } from './call.ts'
import type { JsonObject } from './json.ts'

/** Types that can be delivered: the six calls and the notification of a deletion request. */
export type EventType = CallType | 'delete'

/** The seven types, in the order of the documentation. */
export const eventTypes: readonly EventType[] = Object.freeze([...callTypes, 'delete'] as const)

/** Narrows an unchecked name, such as a flag's value, to one of the seven types. */
export function isEventType(value: unknown): value is EventType {
  return eventTypes.includes(value as EventType)
}

/** An accepted, normalised call. Fields that the call does not have are absent, never null. */
export interface AnalyticsEvent {
  /** Identifies the event. Together with the source, it is the deduplication key. */
  readonly messageId: string
  readonly type: EventType
  readonly sourceId: string
  /** When the event was accepted, in milliseconds since 1970. */
  readonly receivedAtMs: number
  /** When the event happened, corrected for the error of the client's clock: UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string
  /** Whether the event happened more than 24 hours before it was accepted. */
  readonly historical: boolean
  /** The user's id; for an alias, the new id. */
  readonly userId?: string
  /** The id of a user without a userId. */
  readonly anonymousId?: string
  /** The id that an alias replaces. */
  readonly previousId?: string
  readonly groupId?: string
  /** The name of a tracked event. */
  readonly event?: string
  /** The name of a page or screen. */
  readonly name?: string
  /** The category of a page or screen. */
  readonly category?: string
  /** Attributes of a track, page or screen. */
  readonly properties?: JsonObject
  /** Attributes of the user or group. */
  readonly traits?: JsonObject
  /** Context of the event, such as the device, the page and the IP address. */
  readonly context: JsonObject
  /** The destinations that the event may go to. */
  readonly integrations: JsonObject
}
