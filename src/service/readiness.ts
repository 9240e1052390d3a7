import type { DeliveryStore } from '../delivery/index.ts'
import { messageOf } from '../model/index.ts'
import type { SendingHindrance } from '../pipeline/index.ts'
import { sleep, type Runtime } from '../runtime/index.ts'
import type { ServiceRole } from './service-options.ts'

/** How long a service is unready after the store refused events, unless the store accepts events sooner. */
const refusedMs = 5_000
/** How long a check of the store stays valid: frequent probes must not cause frequent writes. */
const checkedMs = 1_000
/** How long to wait for a check, so that a load balancer's probe gets an answer before it times out. */
const patienceMs = 1_500

interface ReadinessOptions {
  readonly store: Pick<DeliveryStore, 'checkWritable'>
  readonly role: ServiceRole
  /** Why the process may not send now; undefined if it may. */
  readonly hindrance: () => SendingHindrance | undefined
  readonly runtime: Pick<Runtime, 'clock' | 'log'>
}

const hindranceReasons: Readonly<Record<SendingHindrance, string>> = {
  joining: 'The process has just joined others that share the store, and may not send yet',
  store: 'The store does not answer',
  clocks:
    'The clocks of the process and of the store disagree, so the process accepts and sends nothing',
}

/** Decides whether a service is ready for requests. */
export class Readiness {
  readonly #options: ReadinessOptions
  #isClosing = false
  #hasFailed = false
  #refusedAtMs = -Infinity
  #acceptedAtMs = -Infinity
  #checkedAtMs = -Infinity
  #startedAtMs = -Infinity
  #isChecking = false
  #check: Promise<string | undefined> = Promise.resolve(undefined)

  constructor(options: ReadinessOptions) {
    this.#options = options
  }

  accepted(): void {
    this.#refusedAtMs = -Infinity
    this.#acceptedAtMs = this.#options.runtime.clock.nowMs()
  }

  /** Records that the store or an archive refused events. */
  refused(): void {
    this.#refusedAtMs = this.#options.runtime.clock.nowMs()
    this.#checkedAtMs = -Infinity
  }

  /** Records that the store or a sender thread failed for good. */
  failed(): void {
    this.#hasFailed = true
  }

  /** Records that the service is closing, or will close soon. */
  closing(): void {
    this.#isClosing = true
  }

  /** Returns why the service is not ready; an empty list if it is. Resolves within 2 s, even if the store hangs. */
  async reasons(): Promise<readonly string[]> {
    const { role, hindrance } = this.#options
    if (this.#isClosing) return ['The service is closing']
    if (this.#hasFailed) return ['This process has stopped sending webhooks: restart it']
    const hinders = role === 'ingest' ? undefined : hindrance()
    // Disagreeing clocks also make the store refuse events, so report the clocks first.
    if (hinders === 'clocks') return [hindranceReasons.clocks]
    if (role !== 'deliver' && this.#isRecent(this.#refusedAtMs, refusedMs)) {
      return ['The store or an archive does not accept events']
    }
    const storeReason = await this.#storeReason()
    if (storeReason !== undefined) return [storeReason]
    return hinders === undefined ? [] : [hindranceReasons[hinders]]
  }

  async #storeReason(): Promise<string | undefined> {
    // Storing events proves more than a check.
    if (this.#isRecent(this.#acceptedAtMs)) return undefined
    if (!this.#isChecking && !this.#isRecent(this.#checkedAtMs)) {
      this.#checkedAtMs = this.#startedAtMs = this.#options.runtime.clock.nowMs()
      this.#check = this.#ask()
    }
    return this.#isChecking ? this.#checkInTime() : this.#check
  }

  async #checkInTime(): Promise<string | undefined> {
    const { clock } = this.#options.runtime
    const remainingMs = this.#startedAtMs + patienceMs - clock.nowMs()
    if (remainingMs <= 0) return this.#lateReason()
    const answered = new AbortController()
    const late = sleep(clock, remainingMs, answered.signal).then(() => this.#lateReason())
    try {
      return await Promise.race([this.#check, late])
    } finally {
      answered.abort()
    }
  }

  #lateReason(): string | undefined {
    return this.#isRecent(this.#acceptedAtMs) ? undefined : hindranceReasons.store
  }

  /** An instant in the future isn't recent: the clock has been set back since. */
  #isRecent(instantMs: number, forMs = checkedMs): boolean {
    const agoMs = this.#options.runtime.clock.nowMs() - instantMs
    return agoMs >= 0 && agoMs < forMs
  }

  async #ask(): Promise<string | undefined> {
    const { store, runtime } = this.#options
    this.#isChecking = true
    try {
      await store.checkWritable()
      return undefined
    } catch (error) {
      runtime.log.debug('the store cannot be written to', { error: messageOf(error) })
      return 'The store cannot be written to'
    } finally {
      this.#isChecking = false
    }
  }
}
