import { MessageChannel } from 'node:worker_threads'
import type { MembershipChange, SyncRequest } from '../../audience/index.ts'
import type { NewEvent } from '../../delivery/index.ts'
import type { MadeEvents, Remote, ThreadSettings } from './thread-messages.ts'
import { thrownError } from './thrown-error.ts'

type EventsOf = SyncRequest['eventsOf']

/**
 * Makes the events of audiences in the thread that has their functions: the one that asks. The other
 * thread waits for them inside its transaction.
 */
export class EventMakers {
  /** The settings that the other thread is started with. */
  readonly settings: Pick<ThreadSettings, 'events' | 'areThere'>
  readonly #port
  readonly #makers = new Map<number, EventsOf>()
  #last = 0

  constructor() {
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    this.settings = { events: port2, areThere: new Int32Array(new SharedArrayBuffer(4)) }
  }

  /** Makes a call that needs events, and makes these until its answer comes. */
  async during<Request extends SyncRequest, Result>(
    { eventsOf, ...request }: Request,
    ask: (request: Remote<Request>) => Promise<Result>,
  ): Promise<Result> {
    const maker = ++this.#last
    this.#makers.set(maker, eventsOf)
    try {
      return await ask({ ...request, maker })
    } finally {
      this.#makers.delete(maker)
    }
  }

  /** Makes events that the other thread waits for. */
  make(maker: number, changes: readonly MembershipChange[]): void {
    try {
      this.#answer({ kind: 'made', events: this.#eventsOf(maker, changes) })
    } catch (error) {
      this.#answer({ kind: 'failed', error: thrownError(error) })
    }
  }

  /** Ends all waits. */
  close(): void {
    this.#port.close()
  }

  #answer(made: MadeEvents): void {
    this.#port.postMessage(made)
    const { areThere } = this.settings
    Atomics.store(areThere, 0, 1)
    Atomics.notify(areThere, 0)
  }

  #eventsOf(maker: number, changes: readonly MembershipChange[]): readonly NewEvent[] {
    const eventsOf = this.#makers.get(maker)
    if (eventsOf === undefined) throw new Error('nobody makes these events any more')
    return eventsOf(changes)
  }
}
