import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  membershipHoldsMs,
  heartbeatMs,
  shareOf,
  type ProcessMembership,
} from '../../src/delivery/index.ts'
import { limits } from '../../src/model/index.ts'
import { ProcessRegistry } from '../support/process-registry.ts'
import { seededRandom } from '../../src/receiver/faults/seeded-random.ts'

const tickMs = 100
const destinationId = 'crm'
/** Requests end at their deadline at the latest, plus a margin. */
const requestMsMax = limits.endpointDeadlineMs + 900

type StepKind = 'join' | 'leave' | 'die' | 'cut_off' | 'stand_still'

/** Something that happens to one of the processes. */
interface Step {
  readonly kind: StepKind
  readonly process: number
  /** The duration, for steps that end by themselves. */
  readonly durationMs: number
  /** The time since the previous step. */
  readonly afterMs: number
}

/** A heartbeat in progress, with the times at which the registry sees it and its answer arrives. */
interface PendingHeartbeat {
  readonly sentAtMs: number
  readonly seenAtMs: number
  readonly answeredAtMs: number
  memberships: readonly ProcessMembership[] | undefined
}

/** A process that sends as many requests as its share allows. */
class SimulatedProcess {
  readonly id: string
  membership: ProcessMembership | undefined
  membershipSentAtMs = -Infinity
  nextHeartbeatAtMs = 0
  heartbeat: PendingHeartbeat | undefined
  isLeaving = false
  cutOffUntilMs = -Infinity
  standsStillUntilMs = -Infinity
  requestEndsMs: readonly number[] = []

  constructor(id: string) {
    this.id = id
  }

  /** The requests that it may have in flight now. */
  share(concurrency: number, nowMs: number): number {
    const holds = nowMs - this.membershipSentAtMs < membershipHoldsMs
    return holds && !this.isLeaving ? shareOf(concurrency, this.membership) : 0
  }
}

/** Several processes, their connections to the registry, and an endpoint that counts requests. */
class SimulatedProcesses {
  readonly #concurrency: number
  readonly #random: () => number
  readonly #registry = new ProcessRegistry(() => this.nowMs)
  readonly #processes: (SimulatedProcess | undefined)[]
  /** Requests of dead processes, which the endpoint still handles. */
  #orphans: readonly number[] = []
  #ids = 0
  nowMs: number = Date.UTC(2026, 0, 2)
  delayMsMax = 1_500
  inFlightMax = 0

  constructor(concurrency: number, processes: number, seed: number) {
    this.#concurrency = concurrency
    this.#processes = Array.from({ length: processes }, () => undefined)
    this.#random = seededRandom(seed)
  }

  take({ kind, process: index, durationMs, afterMs }: Step): void {
    this.pass(afterMs)
    const process = this.#processes[index]
    if (process === undefined) {
      if (kind === 'join') this.#processes[index] = new SimulatedProcess(`p-${++this.#ids}`)
      return
    }
    switch (kind) {
      case 'join':
        break
      case 'leave':
        process.isLeaving = true
        break
      case 'die':
        this.#orphans = [...this.#orphans, ...process.requestEndsMs]
        this.#processes[index] = undefined
        break
      case 'cut_off':
        process.cutOffUntilMs = this.nowMs + durationMs
        break
      case 'stand_still':
        process.standsStillUntilMs = this.nowMs + durationMs
        break
    }
  }

  pass(durationMs: number): void {
    const endMs = this.nowMs + durationMs
    while (this.nowMs < endMs) {
      this.nowMs += tickMs
      this.#orphans = this.#orphans.filter((endMs) => endMs > this.nowMs)
      for (const [index, process] of this.#processes.entries()) {
        if (process !== undefined) this.#turn(process, index)
      }
      const inFlight = this.#living().map(({ requestEndsMs }) => requestEndsMs.length)
      const sum = inFlight.reduce((total, each) => total + each, this.#orphans.length)
      this.inFlightMax = Math.max(this.inFlightMax, sum)
      expect(sum).toBeLessThanOrEqual(this.#concurrency)
    }
  }

  /** The requests that each live process may have in flight now. */
  shares(): readonly number[] {
    return this.#living().map((process) => process.share(this.#concurrency, this.nowMs))
  }

  #living(): readonly SimulatedProcess[] {
    return this.#processes.filter((process) => process !== undefined)
  }

  #turn(process: SimulatedProcess, index: number): void {
    const { nowMs } = this
    process.requestEndsMs = process.requestEndsMs.filter((endMs) => endMs > nowMs)
    // The registry sees a heartbeat even if its process ends meanwhile.
    const { heartbeat } = process
    if (
      heartbeat !== undefined &&
      heartbeat.memberships === undefined &&
      heartbeat.seenAtMs <= nowMs
    ) {
      heartbeat.memberships = this.#registry.heartbeatNow({
        processId: process.id,
        destinationIds: [destinationId],
      })
    }
    if (process.standsStillUntilMs > nowMs) return
    this.#heartbeat(process)
    const share = process.share(this.#concurrency, nowMs)
    while (process.requestEndsMs.length < share) {
      // Most requests take the maximum.
      const durationMs = Math.min(1, 4 * this.#random()) * requestMsMax
      const endMs = nowMs + Math.max(durationMs, tickMs)
      process.requestEndsMs = [...process.requestEndsMs, endMs]
    }
    if (process.isLeaving && process.requestEndsMs.length === 0) {
      void this.#registry.leave({ processId: process.id })
      this.#processes[index] = undefined
    }
  }

  #heartbeat(process: SimulatedProcess): void {
    const { nowMs } = this
    const { heartbeat } = process
    if (heartbeat !== undefined && heartbeat.answeredAtMs <= nowMs) {
      process.heartbeat = undefined
      if (process.cutOffUntilMs <= nowMs && heartbeat.memberships !== undefined) {
        process.membership = heartbeat.memberships[0]
        process.membershipSentAtMs = heartbeat.sentAtMs
      }
      process.nextHeartbeatAtMs = Math.max(heartbeat.sentAtMs + heartbeatMs, nowMs)
    }
    if (process.heartbeat !== undefined || process.nextHeartbeatAtMs > nowMs) return
    const isCutOff = process.cutOffUntilMs > nowMs
    const seenAtMs = isCutOff ? Infinity : nowMs + this.#random() * this.delayMsMax
    const answeredAtMs = (isCutOff ? nowMs : seenAtMs) + this.#random() * this.delayMsMax
    process.heartbeat = { sentAtMs: nowMs, seenAtMs, answeredAtMs, memberships: undefined }
  }
}

const processesMax = 5
const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom<StepKind>('join', 'join', 'leave', 'die', 'cut_off', 'stand_still'),
    process: fc.nat(processesMax - 1),
    durationMs: fc.integer({ min: 1, max: 25_000 }),
    afterMs: fc.oneof(
      // At once, between heartbeats, or after all has settled.
      fc.constant(0),
      fc.integer({ min: 0, max: 3_000 }),
      fc.integer({ min: 0, max: 20_000 }),
    ),
  }),
  { maxLength: 40, size: 'max' },
)

test('processes together never exceed the concurrency, and use all of it once nothing changes', () => {
  const property = fc.property(
    fc.integer({ min: 1, max: 12 }),
    fc.nat(),
    steps,
    (concurrency, seed, taken) => {
      const simulated = new SimulatedProcesses(concurrency, processesMax, seed)
      for (const step of taken) simulated.take(step)
      simulated.take({ kind: 'join', process: 0, durationMs: 0, afterMs: 0 })
      simulated.delayMsMax = 0
      simulated.pass(60_000)
      const shares = simulated.shares()
      if (shares.length === 0) return
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(concurrency)
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
      expect(simulated.inFlightMax).toBe(concurrency)
    },
  )
  // Shrinking an example would take many minutes, and the seed reproduces it.
  fc.assert(property, { numRuns: 50, endOnFailure: true })
})
