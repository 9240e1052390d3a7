import type { IncomingMessage, ServerResponse } from 'node:http'
import { listen, type Listening } from '../http/index.ts'
import { EvrouteError } from '../model/index.ts'
import { systemClock } from '../runtime/index.ts'
import { decideAnswer } from './answer.ts'
import { receiverApp, send } from './app.ts'
import { EventLog, type EventListener } from './event-log.ts'
import { inspectRequest } from './inspect-request.ts'
import type { ReceivedCounts, ReceivedEvent } from './received-event.ts'
import { recordOf } from './record.ts'
import { checkReceiverOptions, type ReceiverOptions, type ReceiverSettings } from './settings.ts'
import { Waits } from './waits.ts'

/** Where a receiver can be reached. */
export interface ReceiverAddress {
  /** The URL to send webhooks to; any path below it will do as well. */
  readonly url: string
  /** The port that is bound. */
  readonly port: number
}

/** How long to wait for webhooks. */
export interface WaitOptions {
  /** In milliseconds; without it there is no limit. */
  readonly timeoutMs?: number | undefined
}

/** How long listeners are awaited when a receiver closes: shorter than senders wait for answers. */
const listenersGraceMs = 250

/**
 * Receives webhooks on this machine: checks the signature of each, answers it, and keeps it.
 *
 * `POST` to any path is a webhook; `GET /healthz` answers 200 once the receiver runs. A receiver
 * starts once and closes once.
 *
 * ```ts
 * await using receiver = new Receiver({ secret: 'not-a-real-secret' })
 * const { url } = await receiver.start()
 * // ... have webhooks sent to the url ...
 * await receiver.waitFor(1, { timeoutMs: 5_000 })
 * ```
 */
export class Receiver implements AsyncDisposable {
  readonly #settings: ReceiverSettings
  readonly #log: EventLog
  readonly #waits: Waits
  readonly #listenerWaits: Waits
  readonly #underWay = new Set<Promise<void>>()
  #listening: Promise<Listening> | undefined
  #closed: Promise<void> | undefined

  /** @throws SettingError naming the option and what it accepts */
  constructor(options?: ReceiverOptions) {
    this.#settings = checkReceiverOptions(options)
    const { eventsMax, runtime } = this.#settings
    this.#waits = new Waits(runtime.clock)
    this.#listenerWaits = new Waits(runtime.clock)
    this.#log = new EventLog(eventsMax, runtime.log, this.#listenerWaits)
  }

  /** The newest events, oldest first: at most `eventsMax`, with bodies of at most 64 MB. */
  get events(): readonly ReceivedEvent[] {
    return this.#log.events
  }

  /** How many requests arrived so far. */
  get counts(): ReceivedCounts {
    return this.#log.counts
  }

  /**
   * Accepts requests; called again it resolves to the same address.
   *
   * @throws EvrouteError `port_in_use` or `cannot_listen`, which a closed receiver throws too
   */
  async start(): Promise<ReceiverAddress> {
    if (this.#closed !== undefined) {
      throw new EvrouteError({
        code: 'cannot_listen',
        message: 'Cannot start a receiver that was closed',
        hint: 'Make a new one.',
      })
    }
    this.#listening ??= this.#listen()
    const { url, port } = await this.#listening
    return { url, port }
  }

  /**
   * Stops accepting and ends: delays are cut short, requests under way get half a second. Listeners
   * get a quarter of it; what comes later is told to them without waiting for them. Called again it
   * waits for the same end. No event comes after it.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  /** Closes at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /**
   * Tells the listener of every event from now on, in the order of `seq`, when its answer is about to
   * be sent. What it returns is awaited before that, and before the next event: a slow listener slows
   * the senders, and their webhooks do not pile up.
   *
   * @returns a function that ends it
   */
  on(_name: 'event', listener: EventListener): () => void {
    return this.#log.listen(listener)
  }

  /**
   * Resolves once the given number of well-formed webhooks arrived, counted from the start and
   * whatever their signatures.
   *
   * @throws EvrouteError `expectation_unmet` when the time ends, or the receiver closes, before
   */
  async waitFor(wellFormed: number, { timeoutMs }: WaitOptions = {}): Promise<void> {
    const isMet = (): boolean => this.counts.wellFormed >= wellFormed
    if (isMet()) return
    const wait = this.#waits.begin()
    const endListening = this.#log.listen(() => {
      if (isMet()) wait.abort()
    })
    await this.#waits.endOf(wait, timeoutMs)
    endListening()
    if (isMet()) return
    throw new EvrouteError({
      code: 'expectation_unmet',
      message: `Cannot wait any longer for ${wellFormed} webhooks: ${this.counts.wellFormed} arrived`,
      hint: 'Look at the events for what was malformed, and at the sender for what was not sent.',
    })
  }

  async #listen(): Promise<Listening> {
    try {
      const { log } = this.#settings.runtime
      const app = receiverApp(
        (request, response) => this.#track(this.#receive(request, response)),
        log,
      )
      const listening = await listen(app, this.#settings)
      // Accepting can fail later, for want of file descriptors: that ends one connection, not all.
      listening.server.on('error', ({ message }) =>
        log.warn('cannot accept a connection', { error: message }),
      )
      return listening
    } catch (error) {
      this.#listening = undefined
      throw error
    }
  }

  async #close(): Promise<void> {
    this.#waits.endAll()
    // Real time, as that of the requests.
    const timer = systemClock.schedule(listenersGraceMs, () => this.#listenerWaits.endAll())
    const listening = await this.#listening?.catch(() => undefined)
    await listening?.close()
    await Promise.allSettled(this.#underWay)
    timer.cancel()
  }

  #track(handling: Promise<void>): Promise<void> {
    const tracked = handling.finally(() => this.#underWay.delete(tracked))
    this.#underWay.add(tracked)
    return tracked
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock } = this.#settings.runtime
    const atMs = clock.nowMs()
    const inspection = await inspectRequest(request, this.#settings)
    const answer = decideAnswer(inspection, this.#settings)
    await this.#delay(response)
    const { status } = answer
    // Recorded before the sender can see its answer, so that whoever waited for it finds the event.
    await this.#log.add(() => {
      const hungUp = response.destroyed
      return recordOf({ request, inspection, status, atMs, answeredAtMs: clock.nowMs(), hungUp })
    })
    if (this.#closed !== undefined) response.setHeader('connection', 'close')
    send(response, answer)
  }

  /** Ends early when the sender does not wait for its answer any longer. */
  async #delay(response: ServerResponse): Promise<void> {
    if (this.#settings.delayMs === 0 || response.destroyed) return
    const wait = this.#waits.begin()
    response.once('close', () => wait.abort())
    await this.#waits.endOf(wait, this.#settings.delayMs)
  }
}
