import fc from 'fast-check'
import { expect, test } from 'vitest'
import { placeHoldsMs, heartbeatMs, shareOf, type ProcessPlace } from '../../src/delivery/index.ts'
import { limits } from '../../src/model/index.ts'
import { ProcessRegistry } from '../support/process-registry.ts'

const tickMs = 100
const destinationId = 'crm'
/** Requests end with their deadline at the latest, or a little later. */
const requestMsMax = limits.endpointDeadlineMs + 900

type StepKind = 'join' | 'leave' | 'die' | 'cut_off' | 'stand_still'

/** Something that happens to one of the processes. */
interface Step {
  readonly kind: StepKind
  readonly process: number
  /** How long it lasts, where it ends by itself. */
  readonly durationMs: number
  /** From the step before. */
  readonly afterMs: number
}

/** A heartbeat in progress: when the registry sees it, and when its answer comes. */
interface Beat {
  readonly sentAtMs: number
  readonly seenAtMs: number
  readonly answeredAtMs: number
  places: readonly ProcessPlace[] | undefined
}

/** A process that sends as much as it may. */
class SimulatedProcess {
  readonly id: string
  place: ProcessPlace | undefined
  placeSentAtMs = -Infinity
  nextBeatAtMs = 0
  beat: Beat | undefined
  isLeaving = false
  cutOffUntilMs = -Infinity
  standsStillUntilMs = -Infinity
  requestEndsMs: readonly number[] = []

  constructor(id: string) {
    this.id = id
  }

  /** The requests that it may have in flight now. */
  share(concurrency: number, nowMs: number): number {
    const holds = nowMs - this.placeSentAtMs < placeHoldsMs
    return holds && !this.isLeaving ? shareOf(concurrency, this.place) : 0
  }
}

/** Several processes, the way between them and the registry, and an endpoint that counts. */
class World {
  readonly #concurrency: number
  readonly #random: () => number
  readonly #registry = new ProcessRegistry(() => this.nowMs)
  readonly #processes: (SimulatedProcess | undefined)[]
  /** Requests whose process died: the endpoint has not noticed yet. */
  #orphans: readonly number[] = []
  #ids = 0
  nowMs: number = Date.UTC(2026, 0, 2)
  delayMsMax = 1_500
  inFlightMax = 0

  constructor(concurrency: number, processes: number, seed: number) {
    this.#concurrency = concurrency
    this.#processes = Array.from({ length: processes }, () => undefined)
    let state = seed
    this.#random = () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state / 2 ** 32
    }
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
    const { beat } = process
    if (beat !== undefined && beat.places === undefined && beat.seenAtMs <= nowMs) {
      beat.places = this.#registry.heartbeatNow({
        processId: process.id,
        destinationIds: [destinationId],
      })
    }
    if (process.standsStillUntilMs > nowMs) return
    this.#heartbeat(process)
    const share = process.share(this.#concurrency, nowMs)
    while (process.requestEndsMs.length < share) {
      // Most take all the time that they may.
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
    const { beat } = process
    if (beat !== undefined && beat.answeredAtMs <= nowMs) {
      process.beat = undefined
      if (process.cutOffUntilMs <= nowMs && beat.places !== undefined) {
        process.place = beat.places[0]
        process.placeSentAtMs = beat.sentAtMs
      }
      process.nextBeatAtMs = Math.max(beat.sentAtMs + heartbeatMs, nowMs)
    }
    if (process.beat !== undefined || process.nextBeatAtMs > nowMs) return
    const isCutOff = process.cutOffUntilMs > nowMs
    const seenAtMs = isCutOff ? Infinity : nowMs + this.#random() * this.delayMsMax
    const answeredAtMs = (isCutOff ? nowMs : seenAtMs) + this.#random() * this.delayMsMax
    process.beat = { sentAtMs: nowMs, seenAtMs, answeredAtMs, places: undefined }
  }
}

const processesMax = 5
const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom<StepKind>('join', 'join', 'leave', 'die', 'cut_off', 'stand_still'),
    process: fc.nat(processesMax - 1),
    durationMs: fc.integer({ min: 1, max: 25_000 }),
    afterMs: fc.oneof(
      // Several things at once, while the others are about to beat, and after all has settled.
      fc.constant(0),
      fc.integer({ min: 0, max: 3_000 }),
      fc.integer({ min: 0, max: 20_000 }),
    ),
  }),
  { maxLength: 40, size: 'max' },
)

test('together processes never send more than the concurrency, and use all of it once all is quiet', () => {
  const property = fc.property(
    fc.integer({ min: 1, max: 12 }),
    fc.nat(),
    steps,
    (concurrency, seed, taken) => {
      const world = new World(concurrency, processesMax, seed)
      for (const step of taken) world.take(step)
      world.take({ kind: 'join', process: 0, durationMs: 0, afterMs: 0 })
      world.delayMsMax = 0
      world.pass(60_000)
      const shares = world.shares()
      if (shares.length === 0) return
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(concurrency)
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
      expect(world.inFlightMax).toBe(concurrency)
    },
  )
  // To look for a shorter example takes many minutes; the seed and the path say it all.
  fc.assert(property, { numRuns: 100, endOnFailure: true })
})
