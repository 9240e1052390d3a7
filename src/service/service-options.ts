import type { Runtime } from '../runtime/index.ts'
import type { Configuration } from './configuration/index.ts'

/** Where a service can be reached. */
export interface ServiceAddress {
  /** The URL of the tracking API, without a path. */
  readonly url: string
  /** Its port. */
  readonly port: number
  /** The URL of the admin API, without a path; null where there is none. */
  readonly admin: string | null
}

/** What is left to do for a service. */
export interface ServiceWork {
  /** Requests to endpoints that are under way. */
  readonly requests: number
  /** Deliveries that stay in the store; 0 until the service is closed. */
  readonly pending: number
}

/** What a service is made of. */
export interface ServiceOptions {
  /** Its sources, destinations and settings. */
  readonly configuration: Configuration
  /** Clock, randomness, ids and log; those of production by default. Its observer is called too. */
  readonly runtime?: Runtime
  /** What it does of all that a service does; everything by default. */
  readonly role?: ServiceRole | undefined
  /** Called with what keeps the service from going on. Close the service then. */
  readonly failed?: (error: unknown) => void
}

/**
 * What a process does of the work that several of them share: `ingest` takes calls and stores them,
 * `deliver` sends what is stored and carries regulations out, `all` does both.
 */
export type ServiceRole = 'all' | 'ingest' | 'deliver'
