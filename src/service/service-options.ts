import type { Runtime } from '../runtime/index.ts'
import type { Configuration } from './configuration/index.ts'

/** The addresses of a running service. */
export interface ServiceAddress {
  /** The URL of the tracking API, without a path. */
  readonly url: string
  /** The port of the tracking API. */
  readonly port: number
  /** The URL of the admin API, without a path; null if the admin API is off. */
  readonly admin: string | null
}

/** How much work a service has left. */
export interface ServiceWork {
  /** Number of requests in flight to endpoints. */
  readonly requests: number
  /** Pending deliveries in the store when the service closed; 0 before, null if the store could not be read. */
  readonly pending: number | null
}

/** Options of `Service.start`. */
export interface ServiceOptions {
  readonly configuration: Configuration
  readonly runtime?: Runtime
  /** What this process does; `all` by default. */
  readonly role?: ServiceRole | undefined
  /** Called with a fatal error. Close the service when it is called. */
  readonly failed?: ((error: unknown) => void) | undefined
}

/** `ingest` accepts and stores calls, `deliver` sends deliveries and carries out regulations, `all` does both. */
export type ServiceRole = 'all' | 'ingest' | 'deliver'
