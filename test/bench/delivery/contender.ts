/** Asks a contender to deliver this many webhooks. */
export interface DeliveryRun {
  readonly webhooks: number
}

export interface DeliveryRate {
  /** Webhooks per second, from the first one offered until the last one is recorded as delivered. */
  readonly perSecond: number
}

export interface ContenderSettings {
  /** Where webhooks go. */
  readonly origin: string
}

/** Requests that a contender may have in flight, unless it runs with its defaults. */
export const connections = 64
