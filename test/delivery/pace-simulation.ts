import { seededRandom } from '../../src/receiver/faults/seeded-random.ts'
import { EndpointGate, type BegunRequest } from '../../src/delivery/endpoint-gate.ts'
import { queuePolicies } from '../../src/delivery/queue-policies.ts'
import { defaultRetryPolicy } from '../../src/delivery/retry-policy.ts'
import type { RequestOutcome } from '../../src/webhook/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import { answered, destinationOf } from './samples.ts'

/** Returns the answer of an endpoint at a given time. */
export type EndpointModel = (nowMs: number) => RequestOutcome

/** Accepts a number of requests in each second, and answers the rest with 429. */
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

/** Accepts requests at an even rate, with a burst after a pause: a token bucket. */
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
  /** The number of its requests in flight. */
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
  /** The behaviour of the endpoint. */
  readonly endpoint: EndpointModel
  /** The number of new deliveries per second. */
  readonly inflowPerSecond: number
  /** The number of deliveries that wait at the start; default 0. */
  readonly backlog?: number
  /** The seed of latencies and jitter. */
  readonly seed?: number
  /** The number of processes that share the endpoint; default 1. */
  readonly processes?: number
  /** The maximum number of requests in flight, of all processes together; default 10. */
  readonly concurrency?: number
  /** The mean duration of requests; default 20. Each takes between half and one and a half of it. */
  readonly latencyMs?: number
}

/** Sends deliveries to a model of an endpoint through gates, millisecond by millisecond. */
export class Simulation {
  nowMs = startMs
  backlog: number
  /** The accepted and the refused requests in each second since the start. */
  readonly taken: (number | undefined)[] = []
  readonly refused: (number | undefined)[] = []
  /** The number of times that a breaker opened. */
  opened = 0
  readonly senders: readonly Sender[]
  endpoint: EndpointModel
  readonly #options: SimulationOptions
  readonly #random: () => number
  #requests: SimulatedRequest[] = []
  /** The due times of refused deliveries. */
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

  /** The seconds since the start. */
  get seconds(): number {
    return (this.nowMs - startMs) / 1_000
  }

  /** The number of waiting deliveries, due or not. */
  get waiting(): number {
    return this.backlog + this.#retries.length
  }

  /** Runs for some seconds, or until a condition is true. */
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
    // Each process is the first one in turn.
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
