import { EventEmitter } from 'node:events'
import { messageOf } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import type { BatchRetry, DeliveredCall, FailedCall } from './result.ts'

/** The events of a client and the arguments of their listeners. */
export interface ClientEventMap {
  /** The endpoint accepted a call. */
  readonly delivered: [DeliveredCall]
  /** A queued call will not be delivered. */
  readonly failed: [FailedCall]
  /** An attempt to send a batch failed. The client waits, then tries again. */
  readonly retry: [BatchRetry]
}

/** `delivered`, `failed` or `retry`. */
export type ClientEventName = keyof ClientEventMap

/** Gets the record of an event. May return a promise; the client doesn't wait for it. */
export type ClientListener<Name extends ClientEventName> = (
  ...details: ClientEventMap[Name]
) => unknown

type AnyListener = (...details: unknown[]) => unknown

/** Calls listeners. A listener that throws or rejects affects neither the others nor the caller. */
export class ClientEvents {
  readonly #emitter = new EventEmitter()
  readonly #log: Log

  /** @param log - gets a warning for each listener that throws or rejects */
  constructor(log: Log) {
    this.#log = log
  }

  /** Adds a listener. One that is added twice is called twice. */
  on<Name extends ClientEventName>(name: Name, listener: ClientListener<Name>): void {
    this.#emitter.on(name, listener as AnyListener)
  }

  off<Name extends ClientEventName>(name: Name, listener: ClientListener<Name>): void {
    this.#emitter.off(name, listener as AnyListener)
  }

  /** Whether an event has a listener. If not, the caller need not create the event's record. */
  has(name: ClientEventName): boolean {
    return this.#emitter.listenerCount(name) > 0
  }

  /** Calls the listeners of an event, in the order in which they were added. */
  emit<Name extends ClientEventName>(name: Name, ...details: ClientEventMap[Name]): void {
    if (!this.has(name)) return
    for (const listener of this.#emitter.listeners(name) as AnyListener[]) {
      void this.#call(listener, name, details)
    }
  }

  async #call(listener: AnyListener, name: ClientEventName, details: unknown[]): Promise<void> {
    try {
      await listener(...details)
    } catch (error) {
      this.#log.warn('a listener failed', { event: name, error: messageOf(error) })
    }
  }
}
