import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RequestRecord } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'
import type { Outage } from './outage.ts'
import { isTemporary } from './store-error.ts'
import type { DeliveryStore, LeasedDelivery, Settlement } from './store-port.ts'

interface OutboxOptions {
  readonly store: Pick<DeliveryStore, 'settle'>
  /** Gives settlements their times. It is held during a write, so that virtual time stands still. */
  readonly clock: Clock
  /** Called with each settlement that was written and took effect. */
  readonly settled: (settlement: Settlement) => void
  readonly drained: () => void
  /** Waits while the store cannot be written to. Without it, even a temporary fault makes the outbox fail. */
  readonly outage?: Outage | undefined
  /** Called with the error when the outbox gives up. It writes nothing afterwards. */
  readonly failed: (error: unknown) => void
}

/** Writes settlements and requests to the store in batches. Collects new ones while it writes a batch. */
export class Outbox {
  readonly #options: OutboxOptions
  #settlements: Settlement[] = []
  #requests: RequestRecord[] = []
  /** Callers that wait for the current batch, and for the next one. */
  #waiters: { now: (() => void)[]; next: (() => void)[] } = { now: [], next: [] }
  #writing = false
  #unwritten = 0
  #broken = false
  #waits = true

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** The number of settlements that have not been written yet. */
  get unwritten(): number {
    return this.#unwritten
  }

  /** Whether nothing is being written or left to write. */
  get isEmpty(): boolean {
    return !this.#writing
  }

  settle(settlement: Settlement): void {
    this.#settlements.push(settlement)
    this.#unwritten++
    this.#begin()
  }

  /** Settles unstarted deliveries as `returned`, with unchanged due times. */
  giveBack(deliveries: readonly LeasedDelivery[]): void {
    for (const delivery of deliveries) {
      this.settle({ kind: 'returned', delivery, dueAtMs: delivery.dueAtMs })
    }
  }

  log(request: RequestRecord): void {
    this.#requests.push(request)
    this.#begin()
  }

  /**
   * Resolves once everything added before this call is written, or cannot be. Doesn't wait for later settlements,
   * because under load there are always more.
   */
  async written(): Promise<void> {
    if (!this.#writing) return
    const waiters = this.#isDue() ? this.#waiters.next : this.#waiters.now
    await new Promise<void>((resolve) => waiters.push(resolve))
  }

  /** Ends a wait for the store, and allows no further one: the next fault makes the outbox fail. */
  waitNoMore(): void {
    this.#waits = false
    this.#options.outage?.cut()
  }

  #begin(): void {
    if (!this.#broken && !this.#writing) void this.#writeAll()
  }

  #isDue(): boolean {
    return this.#settlements.length + this.#requests.length > 0
  }

  async #writeAll(): Promise<void> {
    const { clock, failed, drained } = this.#options
    this.#writing = true
    const release = clock.hold()
    try {
      while (this.#isDue()) {
        // Let other settlements from this turn of the event loop join the batch.
        await nextTurn()
        await this.#writeOrWait()
      }
    } catch (error) {
      this.#broken = true
      failed(error)
    } finally {
      release()
      this.#writing = false
      this.#answer([...this.#waiters.now.splice(0), ...this.#waiters.next.splice(0)])
    }
    drained()
  }

  async #writeOrWait(): Promise<void> {
    const { outage } = this.#options
    try {
      await this.#write()
      outage?.end()
    } catch (error) {
      if (outage === undefined || !this.#waits || !isTemporary(error)) throw error
      await outage.wait(error)
    }
  }

  async #write(): Promise<void> {
    const { store, clock, settled } = this.#options
    const settlements = this.#settlements
    const requests = this.#requests
    this.#settlements = []
    this.#requests = []
    this.#waiters = { now: [...this.#waiters.now, ...this.#waiters.next], next: [] }
    let effective: readonly Settlement[]
    try {
      effective = await store.settle({ nowMs: clock.nowMs(), settlements, requests })
    } catch (error) {
      this.#settlements = [...settlements, ...this.#settlements]
      this.#requests = [...requests, ...this.#requests]
      throw error
    }
    this.#unwritten -= settlements.length
    for (const settlement of effective) settled(settlement)
    this.#answer(this.#waiters.now.splice(0))
  }

  #answer(waiters: readonly (() => void)[]): void {
    for (const answer of waiters) answer()
  }
}
