import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLoopbackAddress, PageSessions, sendAnswer, tokenCheck } from '../http/index.ts'
import type { ExpectedBody } from '../match/index.ts'
import { EvrouteError } from '../model/index.ts'
import { systemClock } from '../runtime/index.ts'
import { decide, type Decision } from './answer.ts'
import { receiverApp } from './app.ts'
import { openEndpoints, type Endpoints, type ReceiverAddress } from './endpoints.ts'
import { EventLog, type EventListener } from './event-log.ts'
import {
  ExpectationError,
  Expectations,
  type ExpectOptions,
  type JudgedExpectation,
} from './expectations.ts'
import {
  injectFault,
  Injections,
  type Fault,
  type GivenAnswer,
  type PlansInput,
} from './faults/index.ts'
import {
  checkNotOwn,
  Forwarder,
  forwardedAnswer,
  rawHeadersOf,
  type Forwarding,
} from './forward.ts'
import { RequestReader, type Inspection } from './inspect-request.ts'
import type { ReceivedCounts, ReceivedEvent } from './received-event.ts'
import { recordOf, type Exchange } from './record.ts'
import { checkReceiverOptions, type ReceiverOptions, type ReceiverSettings } from './settings.ts'
import { WaitApi } from './wait-api.ts'
import { Waits } from './waits.ts'

/** Options for {@link Receiver.waitFor}. */
export interface WaitOptions {
  /** How long to wait; no limit by default. */
  readonly timeoutMs?: number | undefined
}

/** How long a closing receiver waits for event listeners to finish. It waits longer for requests in progress. */
const listenersGraceMs = 250

/**
 * Receives webhooks on this machine: verifies the signature of each, answers it, and keeps it in memory.
 *
 * Treats any `POST` as a webhook. `GET /healthz` answers 200, and paths below `/_evroute/` show what has arrived.
 *
 * ```ts
 * await using receiver = new Receiver({ secret: 'not-a-real-secret' })
 * const { url } = await receiver.start()
 * // ... send webhooks to the url ...
 * await receiver.waitFor(1, { timeoutMs: 5_000 })
 * ```
 */
export class Receiver implements AsyncDisposable {
  readonly #settings: ReceiverSettings
  readonly #reader: RequestReader
  readonly #injections: Injections
  readonly #forwarder: Forwarder
  readonly #log: EventLog
  readonly #expectations: Expectations
  readonly #api: WaitApi
  readonly #pageToken: string | null
  readonly #waits: Waits
  readonly #listenerWaits: Waits
  readonly #handlings = new Set<Promise<void>>()
  #endpoints: Promise<Endpoints> | undefined
  #closed: Promise<void> | undefined

  /** @throws SettingError with the option and its accepted values */
  constructor(options?: ReceiverOptions) {
    this.#settings = checkReceiverOptions(options)
    const { eventsMax, runtime, injections, random, forwarding, host } = this.#settings
    const { secret, endpoints, token } = this.#settings
    this.#reader = new RequestReader(this.#settings)
    this.#injections = new Injections(injections, random, endpoints)
    this.#forwarder = new Forwarder(forwarding, runtime)
    this.#waits = new Waits(runtime.clock)
    this.#listenerWaits = new Waits(runtime.clock)
    this.#log = new EventLog(eventsMax, runtime.log, this.#listenerWaits)
    this.#expectations = new Expectations(this.#log, this.#waits, runtime.clock)
    const sessions = isLoopbackAddress(host)
      ? undefined
      : new PageSessions({ clock: runtime.clock, isReusable: true })
    this.#pageToken = sessions?.newLink() ?? null
    this.#api = new WaitApi({
      log: this.#log,
      expectations: this.#expectations,
      waits: this.#waits,
      secret,
      clock: runtime.clock,
      urls: async () => (await this.start()).urls,
      sessions,
      isToken: token === undefined ? undefined : tokenCheck(token),
      answers: this.#injections,
      passesOn: this.#settings.passesOn || forwarding.targets.length > 0,
    })
  }

  /** The newest events, oldest first: at most `eventsMax`, and at most 64 MB of bodies. */
  get events(): readonly ReceivedEvent[] {
    return this.#log.events
  }

  get counts(): ReceivedCounts {
    return this.#log.counts
  }

  /** The number of requests that are not events yet, because they are being read, delayed or forwarded. */
  get underWay(): number {
    return this.#log.arrivals.underWay
  }

  /**
   * Opens the ports. Further calls resolve to the same address.
   *
   * @throws EvrouteError `port_in_use` or `cannot_listen`; SettingError if a forwarding target is this receiver
   */
  async start(): Promise<ReceiverAddress> {
    if (this.#closed !== undefined) {
      throw new EvrouteError({
        code: 'cannot_listen',
        message: 'Cannot start a receiver that was closed',
        hint: 'Create a new receiver.',
      })
    }
    this.#endpoints ??= this.#open()
    const { urls, port, authority } = await this.#endpoints
    return { url: urls[0] ?? '', urls, port, authority, pageToken: this.#pageToken }
  }

  /**
   * Stops accepting requests and ends delays early. Requests in flight get 500 ms to finish, and listeners 250 ms.
   * Resolves once no more events can follow. Further calls return the same promise.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  /**
   * Replaces the plan. Accepts the same forms as the option `respond`. The option `failShare` stays in effect.
   *
   * @throws SettingError `respond`, with the mistake and the accepted forms
   */
  respond(plan: PlansInput): void {
    this.#injections.respond(plan)
  }

  /**
   * Queues an answer for one well-formed webhook. The plan continues once the queue is empty.
   *
   * @throws SettingError about `respond`, if the answer is neither a status from 200 to 599 nor a fault, or if 10,000
   * answers are queued
   */
  respondNext(answer: GivenAnswer): void {
    this.#injections.respondNext({ answer })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /**
   * Calls the listener for every later event, in the order of `seq`. The receiver awaits the listener's promise before
   * it answers and before the next event. A slow listener thus slows the senders, and webhooks don't pile up.
   *
   * @returns a function that removes the listener
   */
  on(_name: 'event', listener: EventListener): () => void {
    return this.#log.listen(listener)
  }

  /**
   * Resolves once this many well-formed webhooks have arrived since the start, whatever their signatures.
   *
   * @throws EvrouteError `expectation_unmet` if the timeout passes or the receiver closes first
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
      message: `Only ${this.counts.wellFormed} of ${wellFormed} webhooks arrived`,
      hint: 'Check the events for malformed webhooks, and check that the sender sent all webhooks.',
    })
  }

  /**
   * Waits for webhooks. The expectation is a text such as `'type:track event:"Order*" x2 within 2s'`, or an object that
   * the body must contain, such as `{ type: 'track', event: 'Order Completed' }`. Counts all webhooks since the start,
   * or only those with a higher `seq` than the option `after`.
   *
   * Resolves as soon as the expectation is decided. Without a maximum count, the expectation is met as soon as enough
   * webhooks have arrived. With a maximum, as in `x3` and `never`, it can only be met at the end of its time, because
   * one more webhook can arrive until that moment. The time is 4 s on the receiver's clock; `timeoutMs` or `within` can
   * change it. Requests that are {@link underWay} at the end of the time still count, so `expect` waits for them.
   *
   * @returns the counted events that are still kept, oldest first
   * @throws ExpectationError if the time is up or the receiver closes first, or if too many webhooks arrive; MatchError
   * or SettingError if the expectation is invalid; EvrouteError `expectation_unmet` if events that should be counted
   * are no longer kept
   */
  async expect(
    expected: string | ExpectedBody,
    options?: ExpectOptions,
  ): Promise<readonly ReceivedEvent[]> {
    const { result, events } = await this.judge(expected, options)
    if (result.state === 'unmet') throw new ExpectationError(result, this.#closed !== undefined)
    return events
  }

  /** Waits like {@link expect}, but also resolves if the expectation is not met. */
  judge(expected: string | ExpectedBody, options?: ExpectOptions): Promise<JudgedExpectation> {
    return this.#expectations.judge(expected, options)
  }

  /**
   * Forwards a request again, with its bytes and headers. The answer goes only to the caller.
   *
   * @returns how forwarding ended; undefined if no target takes this type of webhook
   */
  forward(event: ReceivedEvent): Promise<Forwarding | undefined> {
    return this.#forwarder.forward({ ...event, headers: Object.entries(event.headers) })
  }

  async #open(): Promise<Endpoints> {
    const { forwarding, runtime } = this.#settings
    let endpoints: Endpoints | undefined
    try {
      endpoints = await openEndpoints(this.#settings, (endpoint) =>
        receiverApp(
          {
            answer: (request, response) => this.#track(this.#api.answer(request, response)),
            receive: (request, response) => this.#track(this.#receive(request, response, endpoint)),
          },
          runtime.log,
        ),
      )
      checkNotOwn(forwarding.targets, endpoints.urls)
      return endpoints
    } catch (error) {
      await endpoints?.close()
      this.#endpoints = undefined
      throw error
    }
  }

  async #close(): Promise<void> {
    this.#waits.endAll()
    // Use real time, like the grace period for open requests.
    const timer = systemClock.schedule(listenersGraceMs, () => this.#listenerWaits.endAll())
    const endpoints = await this.#endpoints?.catch(() => undefined)
    this.#forwarder.close()
    await endpoints?.close()
    await Promise.allSettled(this.#handlings)
    timer.cancel()
  }

  #track(handling: Promise<void>): Promise<void> {
    const tracked = handling.finally(() => this.#handlings.delete(tracked))
    this.#handlings.add(tracked)
    return tracked
  }

  async #receive(
    request: IncomingMessage,
    response: ServerResponse,
    endpoint: number,
  ): Promise<void> {
    const arrival = { request, response, endpoint, atMs: this.#settings.runtime.clock.nowMs() }
    const endArrival = this.#log.arrivals.begin(arrival.atMs)
    try {
      const reply = await this.#record(arrival, endArrival)
      await this.#reply(arrival, reply)
    } finally {
      endArrival()
    }
  }

  async #record(arrival: Arrival, endArrival: () => void): Promise<Decision['reply']> {
    const { request, response, endpoint } = arrival
    const { endpoints, runtime } = this.#settings
    const inspection = await this.#reader.read(request)
    const unanswered = { ...inspection, path: request.url ?? '', endpoint }
    const decision = decide(unanswered, this.#settings, this.#injections)
    await this.#delay(response, decision.delayMs)
    const forwarding = await this.#forward(arrival, inspection, decision)
    const reply = forwarding === undefined ? decision.reply : forwardedAnswer(forwarding)
    // Log before answering: a test that has received the answer must find the event.
    await this.#log.add(() => {
      // End the arrival before the listeners run: a slow listener must not delay expectations that wait for this
      // request.
      endArrival()
      return recordOf({
        ...arrival,
        inspection,
        decision,
        reply,
        endpoint: endpoints === 1 ? null : endpoint,
        forwarding: forwarding ?? null,
        answeredAtMs: runtime.clock.nowMs(),
      })
    })
    return reply
  }

  /**
   * Forwards a request that would be answered 2xx, unless it is withheld or filtered out. Does not forward a request
   * whose sender has hung up, because the sender will retry.
   */
  async #forward(
    { request, response }: Arrival,
    inspection: Inspection,
    { reply }: Decision,
  ): Promise<Forwarding | undefined> {
    const { targets, filter } = this.#settings.forwarding
    if (targets.length === 0) return undefined
    if (response.destroyed || inspection.withheld !== null) return undefined
    if (typeof reply === 'string' || reply.status >= 300) return undefined
    const { content, signature, rawBody } = inspection
    const path = request.url ?? ''
    const { type, body } = content
    // A filter never tests `atMs`, so any value will do.
    const subject = {
      body,
      signature: signature.verdict,
      status: reply.status,
      path,
      bytes: rawBody.length,
      atMs: 0,
    }
    if (filter?.test(subject) === false) return undefined
    return this.#forwarder.forward({ type, headers: rawHeadersOf(request), rawBody, path })
  }

  async #reply(arrival: Arrival, reply: Decision['reply']): Promise<void> {
    const { response } = arrival
    if (typeof reply === 'string') {
      await this.#inject(reply, arrival)
      return
    }
    if (this.#closed !== undefined) response.setHeader('connection', 'close')
    sendAnswer(response, reply)
  }

  async #inject(fault: Fault, { request, response, endpoint }: Arrival): Promise<void> {
    const { socket } = request
    if (socket.destroyed) return
    const endpoints = await this.#endpoints
    const wait = this.#waits.begin()
    socket.once('close', () => wait.abort())
    const connection = endpoints?.below(endpoint, socket) ?? socket
    const { clock } = this.#settings.runtime
    await injectFault(fault, { response, connection, ended: wait.signal, clock })
    await this.#waits.endOf(wait)
  }

  async #delay(response: ServerResponse, delayMs: number): Promise<void> {
    if (delayMs === 0 || response.destroyed) return
    const wait = this.#waits.begin()
    response.once('close', () => wait.abort())
    await this.#waits.endOf(wait, delayMs)
  }
}

interface Arrival extends Pick<Exchange, 'request' | 'response' | 'atMs'> {
  readonly endpoint: number
}
