import {
  checkOptionNames,
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
import { Batch, type EncodedCall } from './batch.ts'
import { CallLedger } from './call-ledger.ts'
import { envelopeBytes } from './envelope.ts'
import { ClientEvents, type ClientEventName, type ClientListener } from './events.ts'
import { FlushTimer } from './flush-timer.ts'
import { clientSettings, type ClientOptions, type ClientSettings } from './options.ts'
import { prepareCall } from './prepare-call.ts'
import type { BatchRetry, CloseReport, EnqueueRefusalCode, EnqueueResult } from './result.ts'
import { Sender, type Failure } from './sender.ts'

/** How long {@link Client.close} waits. */
export interface CloseOptions {
  /** How long to wait for calls that are queued or in flight, in milliseconds, 0 to 86,400,000; 30,000 by default. */
  readonly timeoutMs?: number | undefined
}

const closeTimeoutMs = 30_000
const disabledResult: EnqueueResult = Object.freeze({ status: 'disabled' })

/**
 * Records analytics calls and sends them in the background, in batches.
 *
 * Recording a call never throws and never waits. The result is `queued`, or `refused` with the reason. Each queued
 * call ends in exactly one event, `delivered` or `failed`. `close()` returns the counts of all calls and lists the
 * undelivered ones, within the limits in {@link CloseReport}. The client keeps the process alive only while work is
 * pending.
 *
 * A batch of `flushAt` calls is sent at once if fewer than 4 batches are in flight. Further batches wait in line. If
 * `batchMax` is larger than `flushAt`, waiting batches are merged.
 *
 * Calls in a batch keep their order, but batches may overtake each other. If one call must arrive before another,
 * await `flush()` between them.
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
 * When an anonymous user becomes known, alias the anonymous id to the userId, then identify, then use the userId:
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
  /** The calls that wait for a flush. */
  readonly #batch: Batch
  readonly #sender: Sender
  readonly #flushTimer: FlushTimer
  readonly #ledger: CallLedger
  #waitingForRoom: (() => void)[] = []
  #closing: Promise<CloseReport> | undefined

  /**
   * @param writeKey - identifies the source that the calls belong to
   * @throws SettingError if the write key or an option is invalid
   */
  constructor(writeKey: string, options: ClientOptions = {}) {
    this.#settings = clientSettings(writeKey, options)
    const { batchMax, flushAt, flushAfterMs, queueMax, runtime, transport } = this.#settings
    this.#events = new ClientEvents(runtime.log)
    this.#ledger = new CallLedger({ callsMax: queueMax })
    const bytesMax = limits.batchBytesMax - envelopeBytes(writeKey)
    this.#batch = new Batch({ callsMax: flushAt, bytesMax })
    this.#flushTimer = new FlushTimer({
      clock: runtime.clock,
      afterMs: flushAfterMs,
      flush: () => this.#flush(),
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

  /** Describes a user. Call it once when the account is created, and again only when traits change. */
  identify(call: IdentifyCall): EnqueueResult {
    return this.#enqueue(call, 'identify')
  }

  /** Records what a user did. */
  track(call: TrackCall): EnqueueResult {
    return this.#enqueue(call, 'track')
  }

  /** Records that a user saw a page. `traits` is another name for `properties`, as in Segment's client for Go. */
  page(call: PageCall): EnqueueResult {
    return this.#enqueue(call, 'page')
  }

  /** Records that a user saw a screen of an app. */
  screen(call: ScreenCall): EnqueueResult {
    return this.#enqueue(call, 'screen')
  }

  /** Records which group a user belongs to. */
  group(call: GroupCall): EnqueueResult {
    return this.#enqueue(call, 'group')
  }

  /** Records that two ids belong to the same person. */
  alias(call: AliasCall): EnqueueResult {
    return this.#enqueue(call, 'alias')
  }

  /** Records a call that names its own type in the `type` field, such as a parsed row of a file. */
  enqueue(call: unknown): EnqueueResult {
    return this.#enqueue(call, undefined)
  }

  /**
   * Resolves when the queue has room. Await it to slow a fast reader down to the client's pace. All waiting
   * callers wake as soon as there is room for one call, so several callers must check the results of their
   * calls.
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

  /** Sends every queued call. Resolves when every call recorded so far has been delivered or has failed. */
  async flush(): Promise<void> {
    this.#flush()
    await this.#sender.idle()
  }

  /**
   * Refuses further calls, sends the queued ones, and waits until every call, after its retries, has been delivered or
   * has failed. After `timeoutMs`, the pending calls fail. Closing again returns the same promise.
   *
   * @returns the counts and the undelivered calls, within the limits in {@link CloseReport}
   * @throws SettingError if `timeoutMs` is invalid, or an option is unknown
   */
  close(options: CloseOptions = {}): Promise<CloseReport> {
    checkOptionNames(options, { timeoutMs: true })
    const { timeoutMs = closeTimeoutMs } = options
    this.#closing ??= this.#close(checkWholeNumber('timeoutMs', timeoutMs, [0, 86_400_000]))
    return this.#closing
  }

  /** Adds a listener. A queued call causes one `delivered` or one `failed`. A retry of a batch causes one `retry`. */
  on<Name extends ClientEventName>(name: Name, listener: ClientListener<Name>): this {
    this.#events.on(name, listener)
    return this
  }

  off<Name extends ClientEventName>(name: Name, listener: ClientListener<Name>): this {
    this.#events.off(name, listener)
    return this
  }

  #enqueue(value: unknown, type: CallType | undefined): EnqueueResult {
    const { disabled, queueMax, runtime } = this.#settings
    if (disabled) return disabledResult
    if (this.#closing !== undefined) return this.#refuse('closed', 'The client is closed')
    if (!this.#hasRoom()) {
      return this.#refuse(
        'queue_full',
        `The queue is full: ${queueMax} calls are waiting; await room()`,
      )
    }
    const prepared = prepareCall(value, type, runtime)
    if (prepared.kind === 'refused') return this.#refuse(prepared.code, prepared.message)
    this.#queue(prepared.call)
    return { status: 'queued', messageId: prepared.call.messageId }
  }

  #queue(call: EncodedCall): void {
    this.#ledger.queued()
    this.#settings.runtime.log.debug('queued', { type: call.type, messageId: call.messageId })
    if (!this.#batch.join([call])) {
      this.#flush()
      this.#batch.join([call])
    }
    // A full queue accepts no calls, so waiting cannot fill the batch.
    if (this.#batch.isFull || !this.#hasRoom()) this.#flush()
    else this.#flushTimer.arm()
  }

  #refuse(code: EnqueueRefusalCode, message: string): EnqueueResult {
    this.#ledger.refused()
    this.#settings.runtime.log.debug('refused', { code })
    return { status: 'refused', code, message }
  }

  #flush(): void {
    if (this.#batch.calls.length === 0) return
    this.#flushTimer.flushed()
    this.#sender.send(this.#batch.take())
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
    // The reason quotes the endpoint's answer, which may contain the write key.
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
