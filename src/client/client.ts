import {
  checkWholeNumber,
  limits,
  messageOf,
  type AliasCall,
  type CallType,
  type GroupCall,
  type IdentifyCall,
  type PageCall,
  type ScreenCall,
  type TrackCall,
} from '../model/index.ts'
import { sleep } from '../runtime/index.ts'
import { Batcher, type EncodedCall } from './batch.ts'
import { CallLedger } from './call-ledger.ts'
import { envelopeBytes } from './envelope.ts'
import { ClientEvents, type ClientEventName, type ClientListener } from './events.ts'
import { FlushTimer } from './flush-timer.ts'
import { clientSettings, type ClientOptions, type ClientSettings } from './options.ts'
import { prepareCall } from './prepare-call.ts'
import type { BatchRetry, CloseReport, EnqueueRefusalCode, EnqueueResult } from './result.ts'
import { Sender, type Failure } from './sender.ts'

/** How a client is closed. */
export interface CloseOptions {
  /**
   * Milliseconds to wait for the calls that are queued or in flight, 0 to 86,400,000; 30,000 by
   * default.
   */
  readonly timeoutMs?: number | undefined
}

const closeTimeoutMs = 30_000
const disabledResult: EnqueueResult = Object.freeze({ status: 'disabled' })

/**
 * Records analytics calls and sends them in the background, in batches.
 *
 * A call is answered at once: `queued`, or `refused` with the reason. It never throws and never
 * waits. What is queued ends in exactly one event, `delivered` or `failed`. `close()` counts them all
 * and lists what was not delivered, within the bounds that {@link CloseReport} names. Only work that
 * is pending keeps the process alive.
 *
 * A batch of `flushAt` calls goes out at once, as long as fewer than 4 batches are in flight. Others wait
 * in line; with a larger `batchMax` they join one another there.
 *
 * Calls of a batch keep their order. Batches may overtake each other: await `flush()` between two calls if
 * one must arrive before the other.
 *
 * Call `identify` once when the account is created, and again only when traits change:
 *
 * ```ts
 * const client = new Client('wk_example')
 * client.identify({ userId: 'user-1', traits: { plan: 'free' } })
 * client.track({ userId: 'user-1', event: 'Order Completed', properties: { revenue: '39.95' } })
 * await client.close()
 * ```
 *
 * When a user who was anonymous becomes known, alias the anonymous id to the identified one, then
 * identify, then go on under the identified id:
 *
 * ```ts
 * client.track({ anonymousId: 'anonymous-1', event: 'Signup Started' })
 * client.alias({ previousId: 'anonymous-1', userId: 'user-1' })
 * client.identify({ userId: 'user-1', traits: { plan: 'free' } })
 * client.track({ userId: 'user-1', event: 'Signup Completed' })
 * ```
 */
export class Client {
  readonly #settings: ClientSettings
  readonly #events: ClientEvents
  readonly #batcher: Batcher
  readonly #sender: Sender
  readonly #flushTimer: FlushTimer
  readonly #ledger: CallLedger
  #waitingForRoom: (() => void)[] = []
  #closing: Promise<CloseReport> | undefined

  /**
   * @param writeKey - identifies the source that the calls belong to
   * @throws SettingError when the write key or an option is not accepted
   */
  constructor(writeKey: string, options: ClientOptions = {}) {
    this.#settings = clientSettings(writeKey, options)
    const { batchMax, flushAt, flushAfterMs, queueMax, runtime, transport } = this.#settings
    this.#events = new ClientEvents(runtime.log)
    this.#ledger = new CallLedger({ callsMax: queueMax })
    const bytesMax = limits.batchBytesMax - envelopeBytes(writeKey)
    this.#batcher = new Batcher({ callsMax: flushAt, bytesMax })
    this.#flushTimer = new FlushTimer({
      clock: runtime.clock,
      afterMs: flushAfterMs,
      flush: () => this.#send(this.#batcher.flush()),
    })
    this.#sender = new Sender({
      writeKey,
      transport,
      waitingLimits: { callsMax: batchMax, bytesMax },
      runtime,
      observer: {
        delivered: (call) => this.#delivered(call),
        failed: (call, failure) => this.#failed(call, failure),
        retrying: (retry) => this.#retrying(retry),
      },
    })
  }

  /** Describes a user: once when the account is created, and again only when traits change. */
  identify(call: IdentifyCall): EnqueueResult {
    return this.#enqueue(call, 'identify')
  }

  /** Says that a user did something. */
  track(call: TrackCall): EnqueueResult {
    return this.#enqueue(call, 'track')
  }

  /** Says that a user saw a page. `traits` is sent as `properties`. */
  page(call: PageCall): EnqueueResult {
    return this.#enqueue(call, 'page')
  }

  /** Says that a user saw a screen of an app. */
  screen(call: ScreenCall): EnqueueResult {
    return this.#enqueue(call, 'screen')
  }

  /** Says which group a user belongs to. */
  group(call: GroupCall): EnqueueResult {
    return this.#enqueue(call, 'group')
  }

  /** Says that two ids are the same person. */
  alias(call: AliasCall): EnqueueResult {
    return this.#enqueue(call, 'alias')
  }

  /** Records a call of any type, such as a parsed row of a file. Its `type` decides. */
  enqueue(call: unknown): EnqueueResult {
    return this.#enqueue(call, undefined)
  }

  /**
   * Resolves when the queue has room: who reads faster than the client sends waits here. Of several
   * who wait all are woken, so each looks at the answer to its call.
   *
   * ```ts
   * for await (const row of rows) {
   *   await client.room()
   *   client.enqueue(row)
   * }
   * ```
   */
  async room(): Promise<void> {
    if (this.#hasRoom()) return
    await new Promise<void>((resolve) => this.#waitingForRoom.push(resolve))
  }

  /** Sends every queued call, and resolves when those and the calls in flight have ended. */
  async flush(): Promise<void> {
    this.#send(this.#batcher.flush())
    await this.#sender.idle()
  }

  /**
   * Refuses further calls, sends the queued ones and waits for them, retries included. Gives up after
   * `timeoutMs`. A second call gets the promise of the first.
   *
   * @returns counts, and the calls that were not delivered: all that are under way now, and the newest of
   * those that failed before, at most `queueMax` and 16 MB of JSON
   * @throws SettingError if `timeoutMs` is not accepted
   */
  close({ timeoutMs = closeTimeoutMs }: CloseOptions = {}): Promise<CloseReport> {
    this.#closing ??= this.#close(checkWholeNumber('timeoutMs', timeoutMs, [0, 86_400_000]))
    return this.#closing
  }

  /** Adds a listener: `delivered`, `failed` (each call once) or `retry` (a batch waits). */
  on<Name extends ClientEventName>(name: Name, listener: ClientListener<Name>): this {
    this.#events.on(name, listener)
    return this
  }

  /** Removes a listener that was added. */
  off<Name extends ClientEventName>(name: Name, listener: ClientListener<Name>): this {
    this.#events.off(name, listener)
    return this
  }

  #enqueue(value: unknown, type: CallType | undefined): EnqueueResult {
    const { disabled, queueMax, runtime } = this.#settings
    if (disabled) return disabledResult
    if (this.#closing !== undefined) return this.#refuse('closed', 'The client is closed')
    if (!this.#hasRoom()) {
      return this.#refuse('queue_full', `The queue is full: ${queueMax} calls wait; await room()`)
    }
    const prepared = prepareCall(value, type, runtime)
    if (prepared.kind === 'refused') return this.#refuse(prepared.code, prepared.message)
    this.#queue(prepared.call)
    return { status: 'queued', messageId: prepared.call.messageId }
  }

  #queue(call: EncodedCall): void {
    this.#ledger.queued()
    this.#settings.runtime.log.debug('queued', { type: call.type, messageId: call.messageId })
    this.#send(this.#batcher.push(call))
    // A full queue takes no more calls, so its calls wait for nothing.
    if (!this.#hasRoom()) this.#send(this.#batcher.flush())
    if (this.#batcher.size > 0) this.#flushTimer.arm()
  }

  #refuse(code: EnqueueRefusalCode, message: string): EnqueueResult {
    this.#ledger.refused()
    this.#settings.runtime.log.debug('refused', { code })
    return { status: 'refused', code, message }
  }

  #send(batch: readonly EncodedCall[] | undefined): void {
    if (batch === undefined) return
    this.#flushTimer.flushed()
    this.#sender.send(batch)
  }

  #hasRoom(): boolean {
    return this.#ledger.pending < this.#settings.queueMax
  }

  #delivered({ messageId, type }: EncodedCall): void {
    this.#ledger.delivered()
    this.#announceRoom()
    if (!this.#events.has('delivered')) return
    this.#events.emit('delivered', { status: 'delivered', messageId, type })
  }

  #failed({ messageId, type, json }: EncodedCall, failure: Failure): void {
    const failed = Object.freeze({ status: 'failed', messageId, type, json, ...failure })
    this.#ledger.failed(failed)
    this.#settings.runtime.log.debug('failed', { type, messageId, code: failure.code })
    this.#announceRoom()
    this.#events.emit('failed', failed)
  }

  #retrying(retry: BatchRetry): void {
    const { runtime, writeKey } = this.#settings
    // The endpoint's own words are part of the reason, and may quote the key.
    const reason = retry.reason.replaceAll(writeKey, '***')
    runtime.log.debug('retrying a batch', { ...retry, reason })
    this.#events.emit('retry', retry)
  }

  #announceRoom(): void {
    if (this.#waitingForRoom.length === 0) return
    const waiting = this.#waitingForRoom
    this.#waitingForRoom = []
    for (const resolve of waiting) resolve()
  }

  async #close(timeoutMs: number): Promise<CloseReport> {
    const closed = new AbortController()
    const timeUp = sleep(this.#settings.runtime.clock, timeoutMs, closed.signal).then((elapsed) => {
      if (elapsed) this.#sender.abort()
    })
    this.#ledger.closing()
    await this.flush()
    await Promise.race([this.#closeTransport(), timeUp])
    closed.abort()
    return this.#ledger.report()
  }

  async #closeTransport(): Promise<void> {
    const { runtime, transport } = this.#settings
    try {
      await transport.close()
    } catch (error) {
      runtime.log.warn('the transport did not close', { error: messageOf(error) })
    }
  }
}
