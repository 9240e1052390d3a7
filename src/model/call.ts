import type { Properties } from './json.ts'

/** The six calls that a client can record. */
export type CallType = 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias'

/** The six call types, in the order of the documentation. */
export const callTypes: readonly CallType[] = Object.freeze([
  'identify',
  'track',
  'page',
  'screen',
  'group',
  'alias',
])

/** Whether a value is a call type. */
export function isCallType(value: unknown): value is CallType {
  return callTypes.includes(value as CallType)
}

/**
 * The destinations that a call may go to. Keys are case-sensitive destination names. Any value except `false` enables
 * a destination. `All: false` disables every destination that is not enabled by name.
 */
export type Integrations = Readonly<Record<string, unknown>>

/** Fields that every call may have. */
export interface CallFields {
  /** The user's id in your database. */
  readonly userId?: string
  /** An id for a user without a userId. */
  readonly anonymousId?: string
  /** Identifies this call for deduplication; generated when absent. */
  readonly messageId?: string
  /** When the event happened, as a Date or in ISO 8601; the moment of the call when absent. */
  readonly timestamp?: string | Date
  /** Context of the call, such as the device, the page and the IP address. */
  readonly context?: Properties
  /** The destinations that the call may go to; all when absent. */
  readonly integrations?: Integrations
}

/** The user of a call: a userId, an anonymousId, or both. */
export type UserFields =
  | { readonly userId: string; readonly anonymousId?: string | undefined }
  | { readonly userId?: string | undefined; readonly anonymousId: string }

/** Describes a user. Needs a userId or an anonymousId. */
export type IdentifyCall = CallFields &
  UserFields & {
    /** Attributes of the user. */
    readonly traits?: Properties
  }

/** Records what a user did. Needs an event and a userId or an anonymousId. */
export type TrackCall = CallFields &
  UserFields & {
    /** The name of the action, such as `Order Completed`. */
    readonly event: string
    /** Attributes of the event. */
    readonly properties?: Properties
  }

/** Records that a user saw a page. Needs a userId or an anonymousId. */
export type PageCall = CallFields &
  UserFields & {
    /** The page's name. */
    readonly name?: string
    /** The page's category. */
    readonly category?: string
    /** Attributes of the page. The specification defines the meaning of `url`, `title`, `referrer` and `path`. */
    readonly properties?: Properties
    /** A synonym for `properties`, as in the specification's client; sent as `properties`. */
    readonly traits?: Properties
  }

/** Records that a user saw a screen of an app. Needs a userId or an anonymousId. */
export type ScreenCall = CallFields &
  UserFields & {
    /** The screen's name. */
    readonly name?: string
    /** The screen's category. */
    readonly category?: string
    /** Attributes of the screen. */
    readonly properties?: Properties
  }

/** Records which group a user belongs to. Needs a groupId and a userId or an anonymousId. */
export type GroupCall = CallFields &
  UserFields & {
    /** The group's id in your database. */
    readonly groupId: string
    /** Attributes of the group. */
    readonly traits?: Properties
  }

/** Records that two ids belong to the same person. */
export interface AliasCall extends CallFields {
  /** The user's id in your database. */
  readonly userId: string
  /** The id that `userId` replaces. */
  readonly previousId: string
}
