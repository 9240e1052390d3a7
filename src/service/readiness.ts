import type { DeliveryStore } from '../delivery/index.ts'
import { messageOf } from '../model/index.ts'
import type { SendingHindrance } from '../pipeline/index.ts'
import { sleep, type Runtime } from '../runtime/index.ts'
import type { ServiceRole } from './service-options.ts'

/** The least time for which a service is not ready after the store refused events. */
const refusedMs = 5_000
/** How long an answer of the store holds: however often readiness is asked, it is written rarely. */
const checkedMs = 1_000
/** How long an answer of the store is waited for. A load balancer has a deadline too. */
const patienceMs = 1_500

/** What readiness is made of. */
export interface ReadinessOptions {
  /** Must take what is written. */
  readonly store: Pick<DeliveryStore, 'checkWritable'>
  /** What the process does. */
  readonly role: ServiceRole
  /** Why the process may send nothing for now; undefined while it may. */
  readonly hindrance: () => SendingHindrance | undefined
  /** Clock and log. */
  readonly runtime: Pick<Runtime, 'clock' | 'log'>
}

const hindranceReasons: Readonly<Record<SendingHindrance, string>> = {
  joining: 'The process has joined others and may not send yet',
  store: 'The store does not answer',
  clocks: 'The clocks of the process and of the store disagree: it sends nothing',
}

/** Knows whether a service can do its work. */
export class Readiness {
  readonly #options: ReadinessOptions
  #isClosing = false
  #hasFailed = false
  #refusedAtMs = -Infinity
  #tookAtMs = -Infinity
  #checkedAtMs = -Infinity
  #startedAtMs = -Infinity
  #isChecking = false
  #check: Promise<string | undefined> = Promise.resolve(undefined)

  constructor(options: ReadinessOptions) {
    this.#options = options
  }

  /** The store took events. */
  took(): void {
    this.#refusedAtMs = -Infinity
    this.#tookAtMs = this.#options.runtime.clock.nowMs()
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

  /** The service closes, now or once clients had time to go elsewhere. */
  closing(): void {
    this.#isClosing = true
  }

  /**
   * Why the service cannot do its work, in words that anybody may read: the log has the details. Answers
   * within two seconds, whatever the store does.
   */
  async reasons(): Promise<readonly string[]> {
    const { role, hindrance, runtime } = this.#options
    if (this.#isClosing) return ['The service is closing']
    if (this.#hasFailed) return ['The store failed: nothing is delivered any more']
    if (role !== 'deliver' && runtime.clock.nowMs() - this.#refusedAtMs < refusedMs) {
      return ['The store or an archive does not take events']
    }
    const storeReason = await this.#storeReason()
    if (storeReason !== undefined) return [storeReason]
    const hinders = role === 'ingest' ? undefined : hindrance()
    return hinders === undefined ? [] : [hindranceReasons[hinders]]
  }

  /** Why the store cannot be used, as far as it is known in time. */
  async #storeReason(): Promise<string | undefined> {
    // Events that were just stored say more than a check would.
    if (this.#isRecent(this.#tookAtMs)) return undefined
    if (!this.#isChecking && !this.#isRecent(this.#checkedAtMs)) {
      const nowMs = this.#options.runtime.clock.nowMs()
      this.#checkedAtMs = nowMs
      this.#startedAtMs = nowMs
      this.#check = this.#ask()
    }
    return this.#isChecking ? this.#checkInTime() : this.#check
  }

  async #checkInTime(): Promise<string | undefined> {
    const { clock } = this.#options.runtime
    const leftMs = this.#startedAtMs + patienceMs - clock.nowMs()
    if (leftMs <= 0) return this.#lateReason()
    const answered = new AbortController()
    const late = sleep(clock, leftMs, answered.signal).then(() => this.#lateReason())
    try {
      return await Promise.race([this.#check, late])
    } finally {
      answered.abort()
    }
  }

  #lateReason(): string | undefined {
    return this.#isRecent(this.#tookAtMs) ? undefined : hindranceReasons.store
  }

  #isRecent(instantMs: number): boolean {
    const agoMs = this.#options.runtime.clock.nowMs() - instantMs
    return agoMs >= 0 && agoMs < checkedMs
  }

  async #ask(): Promise<string | undefined> {
    const { store, runtime } = this.#options
    this.#isChecking = true
    try {
      await store.checkWritable()
      return undefined
    } catch (error) {
      runtime.log.debug('the store cannot be written', { error: messageOf(error) })
      return 'The store cannot be written'
    } finally {
      this.#isChecking = false
    }
  }
}
