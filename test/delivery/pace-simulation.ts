import { EndpointGate, type BegunRequest } from '../../src/delivery/endpoint-gate.ts'
import { queuePolicies } from '../../src/delivery/queue-policies.ts'
import { defaultRetryPolicy } from '../../src/delivery/retry-policy.ts'
import type { RequestOutcome } from '../../src/webhook/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import { answered, destinationOf } from './samples.ts'

/** The answer of an endpoint at a moment. */
export type EndpointModel = (nowMs: number) => RequestOutcome

/** Random numbers from 0 to 1 that are the same for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Takes that many in each second of the clock, and answers the rest 429. */
export function windowLimit(perSecond: number, retryAfter?: string): EndpointModel {
  let second = 0
  let taken = 0
  return (nowMs) => {
    const now = Math.floor(nowMs / 1_000)
    if (now !== second) taken = 0
    second = now
    return taken++ < perSecond ? answered(200) : answered(429, retryAfter)
  }
}

/** Takes that many per second, evenly, and as many more as it had no requests before. */
export function bucketLimit(perSecond: number, burst: number, retryAfter?: string): EndpointModel {
  let tokens = burst
  let lastMs = startMs
  return (nowMs) => {
    tokens = Math.min(burst, tokens + ((nowMs - lastMs) * perSecond) / 1_000)
    lastMs = nowMs
    if (tokens < 1) return answered(429, retryAfter)
    tokens--
    return answered(200)
  }
}

/** One process that sends to the endpoint. */
interface Sender {
  readonly gate: EndpointGate
  /** Requests under way. */
  inFlight: number
}

interface SimulatedRequest {
  readonly endsAtMs: number
  readonly sender: Sender
  readonly request: BegunRequest
  readonly outcome: RequestOutcome
}

/** The parameters of a simulation. */
export interface SimulationOptions {
  /** What the endpoint answers. */
  readonly endpoint: EndpointModel
  /** Deliveries that come in per second. */
  readonly inflowPerSecond: number
  /** Deliveries that wait already. */
  readonly backlog?: number
  /** Decides latencies and jitter. */
  readonly seed?: number
  /** How many processes share the endpoint. */
  readonly processes?: number
  /** Requests in flight of all processes. */
  readonly concurrency?: number
  /** Round trips last from half of this to one and a half. */
  readonly latencyMs?: number
}

/** Sends deliveries to a model of an endpoint through gates, millisecond by millisecond. */
export class Simulation {
  nowMs = startMs
  backlog: number
  /** Requests in each second since the start, by how the endpoint answered. */
  readonly taken: (number | undefined)[] = []
  readonly refused: (number | undefined)[] = []
  /** How often a breaker opened. */
  opened = 0
  readonly senders: readonly Sender[]
  endpoint: EndpointModel
  readonly #options: SimulationOptions
  readonly #random: () => number
  #requests: SimulatedRequest[] = []
  /** When deliveries that were refused are due again. */
  #retries: number[] = []
  #turn = 0

  constructor(options: SimulationOptions) {
    const { backlog = 0, seed = 1, processes = 1, concurrency = 10, endpoint } = options
    this.#options = options
    this.#random = seededRandom(seed)
    this.backlog = backlog
    this.endpoint = endpoint
    const share = Math.ceil(concurrency / processes)
    const policies = queuePolicies(defaultRetryPolicy, { concurrency: share }, this.#random)
    const url = destinationOf(1).endpoints[0]!
    this.senders = Array.from({ length: processes }, () => ({
      gate: new EndpointGate(url, policies),
      inFlight: 0,
    }))
  }

  /** Seconds since the start. */
  get seconds(): number {
    return (this.nowMs - startMs) / 1_000
  }

  /** What waits, due or not. */
  get waiting(): number {
    return this.backlog + this.#retries.length
  }

  /** Goes on for some seconds, or until a condition holds. */
  run(seconds: number, until: () => boolean = () => false): void {
    const endMs = this.nowMs + seconds * 1_000
    const { inflowPerSecond } = this.#options
    while (this.nowMs < endMs && !until()) {
      this.nowMs++
      if (
        inflowPerSecond > 0 &&
        (this.nowMs - startMs) % Math.round(1_000 / inflowPerSecond) === 0
      ) {
        this.backlog++
      }
      this.#end()
      this.#start()
    }
  }

  #end(): void {
    const due = this.#requests.filter(({ endsAtMs }) => endsAtMs <= this.nowMs)
    if (due.length === 0) return
    this.#requests = this.#requests.filter(({ endsAtMs }) => endsAtMs > this.nowMs)
    for (const { sender, request, outcome } of due) {
      sender.inFlight--
      const change = sender.gate.end(request, outcome, this.nowMs)
      if (change?.kind === 'opened' || change?.kind === 'reopened') this.opened++
      const { status } = outcome as { readonly status: number }
      if (status === 429) this.#retries.push(this.nowMs + 1_000)
      else if (status !== 200) this.#retries.push(this.nowMs + 10_000)
    }
  }

  #start(): void {
    this.#retries = this.#retries.filter((dueAtMs) => {
      if (dueAtMs > this.nowMs) return true
      this.backlog++
      return false
    })
    // Every process has its turn to be first.
    this.#turn++
    for (let each = 0; each < this.senders.length; each++) {
      const sender = this.senders[(this.#turn + each) % this.senders.length]!
      while (this.backlog > 0 && sender.gate.access(this.nowMs, 'first') === 'ask') {
        this.#request(sender)
      }
    }
  }

  #request(sender: Sender): void {
    const { latencyMs = 20 } = this.#options
    this.backlog--
    sender.inFlight++
    const outcome = this.endpoint(this.nowMs)
    const second = Math.floor(this.seconds)
    const { status } = outcome as { readonly status: number }
    const counts = status === 429 ? this.refused : this.taken
    if (status === 429 || status === 200) counts[second] = (counts[second] ?? 0) + 1
    const endsAtMs = this.nowMs + Math.max(1, Math.round(latencyMs * (0.5 + this.#random())))
    const request = sender.gate.begin(this.nowMs, 'first')
    this.#requests.push({ endsAtMs, sender, request, outcome })
  }
}
