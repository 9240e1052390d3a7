import { EventEmitter } from 'node:events'
import { messageOf } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import type { BatchRetry, DeliveredCall, FailedCall } from './result.ts'

/** The events of a client and the arguments of their listeners. */
export interface ClientEventMap {
  /** A call was taken by the endpoint. */
  readonly delivered: [DeliveredCall]
  /** A call was queued and will not be delivered. */
  readonly failed: [FailedCall]
  /** A batch could not be sent and is tried again after a wait. */
  readonly retry: [BatchRetry]
}

/** The name of a client's event. */
export type ClientEventName = keyof ClientEventMap

/** Called when an event happens. */
export type ClientListener<Name extends ClientEventName> = (
  ...details: ClientEventMap[Name]
) => void

type AnyListener = (...details: unknown[]) => void

/** Calls listeners. One that throws affects neither the others nor the caller. */
export class ClientEvents {
  readonly #emitter = new EventEmitter()
  readonly #log: Log

  /** @param log - gets a warning for each listener that throws */
  constructor(log: Log) {
    this.#log = log
  }

  /** Adds a listener. */
  on<Name extends ClientEventName>(name: Name, listener: ClientListener<Name>): void {
    this.#emitter.on(name, listener as AnyListener)
  }

  /** Removes a listener that was added. */
  off<Name extends ClientEventName>(name: Name, listener: ClientListener<Name>): void {
    this.#emitter.off(name, listener as AnyListener)
  }

  /** Whether there is a listener: without one, the record of the event is not made. */
  has(name: ClientEventName): boolean {
    return this.#emitter.listenerCount(name) > 0
  }

  /** Calls the listeners of an event, in the order in which they were added. */
  emit<Name extends ClientEventName>(name: Name, ...details: ClientEventMap[Name]): void {
    if (!this.has(name)) return
    for (const listener of this.#emitter.listeners(name) as AnyListener[]) {
      try {
        listener(...details)
      } catch (error) {
        this.#log.warn('a listener threw', { event: name, error: messageOf(error) })
      }
    }
  }
}
