import type { Clock, Log, Timer } from '../runtime/index.ts'
import type { RequestOutcome } from '../webhook/index.ts'

interface ShortageOptions {
  readonly clock: Clock
  readonly log: Log
  /** Called when paused destinations may start requests again. */
  readonly resumed: () => void
}

/** How long a destination pauses after a failed connection. Also the minimum time between two halvings of the limit. */
const pauseMs = 1_000

/**
 * Slows the process down while it lacks a resource, such as file descriptors for connections.
 *
 * A request that fails for lack of a resource halves the limit on requests in flight, at most once a second; any other
 * outcome raises it a little. A destination pauses only if a connection to it failed: the others can still use theirs.
 */
export class Shortage {
  readonly #options: ShortageOptions
  readonly #paused = new Set<object>()
  #requestsMax = Infinity
  #cutAtMs = -Infinity
  #timer: Timer | undefined

  constructor(options: ShortageOptions) {
    this.#options = options
  }

  /** The current limit on requests in flight; `Infinity` without a shortage. */
  get requestsMax(): number {
    return this.#requestsMax
  }

  isPaused(destination: object): boolean {
    return this.#paused.has(destination)
  }

  /** Notes the outcome of a request. `requests` are in flight, including this one; `requestsMax` is the usual limit. */
  ended(
    outcome: RequestOutcome,
    destination: object,
    { requests, requestsMax }: { readonly requests: number; readonly requestsMax: number },
  ): void {
    if (outcome.kind === 'shortage') {
      this.#pause(destination)
      this.#cut(outcome.code, requests)
    } else if (this.#requestsMax < Infinity) this.#grow(requestsMax)
  }

  /** Cancels the timer: paused destinations do not resume. */
  stop(): void {
    this.#timer?.cancel()
  }

  #pause(destination: object): void {
    const { clock, resumed } = this.#options
    this.#paused.add(destination)
    this.#timer ??= clock.schedule(pauseMs, () => {
      this.#timer = undefined
      this.#paused.clear()
      resumed()
    })
  }

  #cut(code: string, requests: number): void {
    const { clock, log } = this.#options
    const nowMs = clock.nowMs()
    if (this.#requestsMax === Infinity) {
      const fields = { code, hint: hints.get(code) ?? 'free up memory on this machine' }
      log.warn('this process cannot open more connections and is slowing down', fields)
    }
    // Count requests that fail together as one shortage. `abs`, so that a clock set back doesn't delay the next cut.
    if (Math.abs(nowMs - this.#cutAtMs) < pauseMs) return
    this.#cutAtMs = nowMs
    this.#requestsMax = Math.max(1, Math.floor(Math.min(requests, this.#requestsMax) / 2))
  }

  #grow(requestsMax: number): void {
    // Raises the limit by 1 for every `#requestsMax` requests that end.
    this.#requestsMax += 1 / this.#requestsMax
    if (this.#requestsMax < requestsMax) return
    this.#requestsMax = Infinity
    this.#options.log.info('this process can open connections again at full speed')
  }
}

const hints: ReadonlyMap<string, string> = new Map([
  ['EMFILE', "raise this process's limit on open files (ulimit -n)"],
  ['ENFILE', "raise this machine's limit on open files (fs.file-max)"],
  ['EADDRNOTAVAIL', 'widen the range of local ports (net.ipv4.ip_local_port_range)'],
])
