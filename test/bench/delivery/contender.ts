/** What a contender is asked: to deliver so many webhooks. */
export interface DeliveryRun {
  readonly webhooks: number
}

/** What it answers. */
export interface DeliveryRate {
  /** Webhooks per second, from the first that it is offered to the last that it has as delivered. */
  readonly perSecond: number
}

/** What a contender is told when it starts. */
export interface ContenderSettings {
  /** Where webhooks go. */
  readonly origin: string
}

/** Requests that every contender may have in flight, unless its defaults are measured. */
export const connections = 64
