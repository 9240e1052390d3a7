import type { DeliveryStore } from '../delivery/index.ts'
import { messageOf } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'

/** For how long a service is not ready at the least after something was not taken. */
const refusedMs = 5_000
/** For how long an answer of the store holds: however often it is asked, it is written rarely. */
const checkedMs = 1_000

/** What readiness is made of. */
export interface ReadinessOptions {
  /** Must take what is written. */
  readonly store: Pick<DeliveryStore, 'checkWritable'>
  /** Clock and log. */
  readonly runtime: Pick<Runtime, 'clock' | 'log'>
}

/** Knows whether a service can do its work. */
export class Readiness {
  readonly #options: ReadinessOptions
  #isClosing = false
  #hasFailed = false
  #refusedAtMs = -Infinity
  #checkedAtMs = -Infinity
  #check: Promise<boolean> = Promise.resolve(true)

  constructor(options: ReadinessOptions) {
    this.#options = options
  }

  /** Events were taken. */
  took(): void {
    this.#refusedAtMs = -Infinity
  }

  /** Events were not taken. */
  refused(): void {
    this.#refusedAtMs = this.#options.runtime.clock.nowMs()
    this.#checkedAtMs = -Infinity
  }

  /** The store failed for good. */
  failed(): void {
    this.#hasFailed = true
  }

  /** The service closes. */
  closing(): void {
    this.#isClosing = true
  }

  /** Why the service cannot do its work, in words that anybody may read: the log has the details. */
  async reasons(): Promise<readonly string[]> {
    if (this.#isClosing) return ['The service is closing']
    if (this.#hasFailed) return ['The store failed: nothing is delivered any more']
    if (this.#options.runtime.clock.nowMs() - this.#refusedAtMs < refusedMs) {
      return ['The store or an archive does not take events']
    }
    return (await this.#isWritable()) ? [] : ['The store cannot be written']
  }

  #isWritable(): Promise<boolean> {
    const nowMs = this.#options.runtime.clock.nowMs()
    if (nowMs - this.#checkedAtMs >= checkedMs || nowMs < this.#checkedAtMs) {
      this.#checkedAtMs = nowMs
      this.#check = this.#ask()
    }
    return this.#check
  }

  async #ask(): Promise<boolean> {
    const { store, runtime } = this.#options
    try {
      await store.checkWritable()
      return true
    } catch (error) {
      runtime.log.debug('the store cannot be written', { error: messageOf(error) })
      return false
    }
  }
}
