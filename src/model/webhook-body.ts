import type { JsonObject } from './json.ts'

/** Fields of the bodies of all calls except alias. */
export interface CallBody {
  readonly version: 1
  readonly userId?: string
  /** The anonymous id; absent if the call has none. A call can have both ids. */
  readonly anonymousId?: string
  /** Context of the call, such as the device, the page and the IP address. */
  readonly context: JsonObject
  /** UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string
  /** The same on every delivery of the event, so that a receiver can deduplicate. */
  readonly messageId: string
}

/** Describes a user. */
export interface IdentifyBody extends CallBody {
  readonly type: 'identify'
  /** Attributes of the user. */
  readonly traits?: JsonObject
}

/** Reports what a user did. */
export interface TrackBody extends CallBody {
  readonly type: 'track'
  /** The name of the event, such as `Order Completed`. */
  readonly event: string
  readonly properties?: JsonObject
}

/** Reports that a user saw a page, or a screen of an app. */
export interface PageBody extends CallBody {
  readonly type: 'page' | 'screen'
  readonly name?: string
  readonly category?: string
  /** Attributes. The specification defines the meaning of `url`, `title`, `referrer` and `path` of a page. */
  readonly properties?: JsonObject
}

/** Reports which group a user belongs to. */
export interface GroupBody extends CallBody {
  readonly type: 'group'
  readonly groupId: string
  /** Attributes of the group; keys may contain spaces. */
  readonly traits?: JsonObject
}

/** The webhook of an alias call. Its keys are written as in the specification, or in camel case, or both ways. */
export interface AliasBody extends Omit<CallBody, 'userId' | 'anonymousId'> {
  readonly type: 'alias'
  readonly 'Previous ID'?: string
  readonly 'User ID'?: string
  readonly previousId?: string
  readonly userId?: string
}

/** The notification about a deletion request: these three fields and nothing else. */
export interface DeleteBody {
  readonly type: 'delete'
  readonly userId: string
  /** UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string
}

/** The JSON object that an endpoint receives; `type` tells which. */
export type WebhookBody = IdentifyBody | TrackBody | PageBody | GroupBody | AliasBody | DeleteBody
