import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { systemCode } from '../model/index.ts'
import { systemClock, type Clock } from '../runtime/index.ts'
import { NameSource, nameError, type NameAnswer } from './name-source.ts'
import { Turns } from './turns.ts'

/** Shorter than a request's default timeout of 5 s, so that a slow look-up fails with a DNS error. */
const deadlineMs = 4_000
/** Limits on how long a DNS answer is cached, whatever its TTL. */
const ttlMsMin = 1_000
const ttlMsMax = 30_000
/** How long to cache that a name doesn't exist. */
const notFoundMs = 5_000
/** How long to wait before asking again if no server has answered. */
const noAnswerMs = 1_000
/** Maximum number of concurrent look-ups. Each takes one or two file descriptors. */
const lookUpsMax = 200
/** A look-up that has taken this long is aborted if others are waiting for a turn. */
const lookUpSafeMs = 500
/** Maximum number of cached names; 5,000 destinations have fewer. */
const namesMax = 10_000

/** Looks up all addresses of a name. Rejects if it has none. */
export type ResolveName = (name: string) => Promise<readonly LookupAddress[]>

interface NamesOptions {
  /** Hosts file, DNS and system resolver by default. */
  readonly source?: Pick<NameSource, 'find'>
  readonly clock?: Clock
}

/** A cached answer. `untilMs` is in milliseconds since 1970. */
type Known = { readonly untilMs: number } & (
  | { readonly kind: 'found'; readonly addresses: readonly LookupAddress[] }
  | { readonly kind: 'failed'; readonly error: Error }
)

/** Looks names up, and caches answers and failures. Concurrent look-ups of a name share one query. */
export class Names {
  readonly #source: Pick<NameSource, 'find'>
  readonly #clock: Clock
  readonly #turns: Turns
  /** The most recent answer comes last. */
  readonly #known = new Map<string, Known>()
  readonly #asking = new Map<string, Promise<Known>>()

  constructor({ source = new NameSource(), clock = systemClock }: NamesOptions = {}) {
    this.#source = source
    this.#clock = clock
    this.#turns = new Turns({ turnsMax: lookUpsMax, safeMs: lookUpSafeMs, clock })
  }

  /** Resolves with all addresses of a name, or throws like {@link NameSource.find}. */
  readonly resolve: ResolveName = async (name) => {
    const remembered = this.#known.get(name)
    const known = this.#holds(remembered)
      ? remembered
      : await (this.#asking.get(name) ?? this.#ask(name))
    if (known.kind === 'failed') throw known.error
    return known.addresses
  }

  /** Whether an answer is still valid. Setting the clock back must not prolong it. */
  #holds(known: Known | undefined): known is Known {
    if (known === undefined) return false
    const remainingMs = known.untilMs - this.#clock.nowMs()
    return remainingMs > 0 && remainingMs <= ttlMsMax
  }

  #ask(name: string): Promise<Known> {
    const asking = this.#find(name)
      .then(
        (answer) => this.#found(answer),
        (error: unknown) => this.#failed(error as Error),
      )
      .then((known) => this.#keep(name, known))
    this.#asking.set(name, asking)
    return asking
  }

  async #find(name: string): Promise<NameAnswer> {
    const controller = new AbortController()
    const { signal } = controller
    const timer = this.#clock.schedule(deadlineMs, () => controller.abort())
    try {
      await this.#turns.take(controller)
      return await this.#source.find(name, signal)
    } catch (error) {
      throw signal.aborted ? nameError(name, 'EAI_AGAIN') : error
    } finally {
      timer.cancel()
      this.#turns.end(controller)
    }
  }

  #found({ addresses, ttlMs }: NameAnswer): Known {
    const heldMs = Math.min(Math.max(ttlMs, ttlMsMin), ttlMsMax)
    return { kind: 'found', addresses, untilMs: this.#clock.nowMs() + heldMs }
  }

  #failed(error: Error): Known {
    const heldMs = systemCode(error) === 'ENOTFOUND' ? notFoundMs : noAnswerMs
    return { kind: 'failed', error, untilMs: this.#clock.nowMs() + heldMs }
  }

  #keep(name: string, known: Known): Known {
    this.#asking.delete(name)
    this.#known.delete(name)
    this.#known.set(name, known)
    if (this.#known.size > namesMax) this.#known.delete(this.#known.keys().next().value ?? '')
    return known
  }
}

/** The resolver of this process. All destinations share its cache. */
export const systemNames: Names = new Names()

/** Makes a `lookup` function for Node's connections. */
export function lookupBy(resolve: ResolveName): LookupFunction {
  return (host, { all }, callback) => {
    // Call back outside the promise, which would swallow an error of the callback.
    resolve(host).then(
      (addresses) =>
        queueMicrotask(() => {
          if (all === true) callback(null, [...addresses])
          else callback(null, addresses[0]?.address ?? '', addresses[0]?.family)
        }),
      (error: unknown) => queueMicrotask(() => callback(error as NodeJS.ErrnoException, '')),
    )
  }
}
