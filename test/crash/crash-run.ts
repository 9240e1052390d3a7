import { join } from 'node:path'
import { stopwatch } from '../../src/runtime/index.ts'
import { openStore } from '../../src/store/index.ts'
import { CountingReceiver } from './counting-receiver.ts'
import type { Fault } from './deliverer-settings.ts'
import type { Evidence } from './findings.ts'
import { drawKillMoment, type DelivererEvent, type KillMoment } from './kill-plan.ts'
import { DelivererRun, type DelivererReport } from './deliverer-run.ts'
import { seededRandom } from '../../src/receiver/faults/seeded-random.ts'
import { Watchdog } from './watchdog.ts'
import { Witness } from './witness.ts'

export interface CrashRunOptions {
  readonly program: string
  /** The folder for the store. */
  readonly folder: string
  readonly messages: number
  /** The events after which to kill, one kill each, in this order. */
  readonly killEvents: readonly DelivererEvent[]
  /** Seed of the random numbers, which decide when exactly to kill, and how long answers take. */
  readonly seed: number
  /** A fault that the deliverer simulates; none by default. */
  readonly fault?: Fault | undefined
}

export interface CrashResult extends Evidence {
  readonly kills: number
  /** Kills of processes that had nothing left to do. */
  readonly killsAtRest: number
  /** Messages that were refused once. */
  readonly refusals: number
  /** Calls that a killed process had not acknowledged, and that were sent again to the next one. */
  readonly sentAgain: number
  /** The longest time from a restart until the process was ready, in milliseconds. */
  readonly restartMsMax: number
  /** The longest time that a restart took to open the store, in milliseconds. */
  readonly openMsMax: number
  readonly durationMs: number
}

/** A run fails if it makes no progress for this long. */
const stallMs = 30_000
const answerDelayMsMax = 5
/** One message in ten is refused once. */
const refusedEvery = 10

/**
 * Kills a process again and again while it accepts and delivers, restarts it on the same file, and records
 * from outside what happens.
 *
 * @throws Error if there is no progress, or if a process ends that should not
 */
export async function runCrashes(options: CrashRunOptions): Promise<CrashResult> {
  const run = new CrashRun(options)
  return run.result()
}

class CrashRun {
  readonly #options: CrashRunOptions
  /** Decides when to kill. */
  readonly #killRandom: () => number
  /** Decides the rest. It is separate, because the number of answers differs from run to run. */
  readonly #random: () => number
  readonly #witness = new Witness(() => this.#watchdog.progressed())
  readonly #messageIds: string[]
  readonly #storePath: string
  readonly #reports: DelivererReport[] = []
  readonly #watchdog: Watchdog
  #current: { readonly process: number; readonly run: DelivererRun } | undefined
  #sentAgain = 0

  constructor(options: CrashRunOptions) {
    this.#options = options
    this.#killRandom = seededRandom(options.seed + 1)
    this.#random = seededRandom(options.seed + 2)
    this.#storePath = join(options.folder, 'evroute.db')
    this.#messageIds = Array.from({ length: options.messages }, (_, index) => `m_${index + 1}`)
    for (const messageId of this.#messageIds) this.#witness.expect(messageId)
    this.#watchdog = new Watchdog(stallMs, () => this.#current?.run.description ?? 'no process')
  }

  async result(): Promise<CrashResult> {
    const elapsedMs = stopwatch()
    const receiver = await this.#startReceiver()
    try {
      const kills = this.#options.killEvents.length
      for (let process = 0; process <= kills; process++) await this.#runProcess(process, receiver)
      const restarts = this.#reports.slice(1)
      return {
        records: this.#witness.records,
        audit: await this.#audit(),
        kills,
        killsAtRest: this.#reports.filter(({ killedAtRest }) => killedAtRest).length,
        refusals: receiver.refusals,
        sentAgain: this.#sentAgain,
        restartMsMax: Math.max(...restarts.map(({ readyMs = 0 }) => readyMs)),
        openMsMax: Math.max(...restarts.map(({ openMs = 0 }) => openMs)),
        durationMs: elapsedMs(),
      }
    } finally {
      this.#watchdog.stop()
      this.#current?.run.kill()
      await receiver.close()
    }
  }

  #startReceiver(): Promise<CountingReceiver> {
    return CountingReceiver.start({
      refusedOnce: this.#refusedOnce(),
      delayMs: () => Math.floor(this.#random() * (answerDelayMsMax + 1)),
      requested: (process) => {
        if (this.#current?.process === process) this.#current.run.requested()
      },
      answered: (messageId, process) => {
        this.#witness.answered(messageId, process)
        if (this.#current?.process === process) this.#current.run.answered()
      },
    })
  }

  /** Chooses one of every ten, evenly, so that no series of refusals opens the circuit breaker. */
  #refusedOnce(): ReadonlySet<string> {
    const refused = new Set<string>()
    for (let start = 0; start < this.#messageIds.length; start += refusedEvery) {
      const messageId = this.#messageIds[start + Math.floor(this.#random() * refusedEvery)]
      if (messageId !== undefined) refused.add(messageId)
    }
    return refused
  }

  async #runProcess(process: number, receiver: CountingReceiver): Promise<void> {
    const { program, fault } = this.#options
    const run = new DelivererRun({
      process,
      argv: [
        program,
        receiver.urlFor(process),
        this.#storePath,
        ...(fault === undefined ? [] : [fault]),
      ],
      messageIds: this.#messageIds,
      kill: this.#nextKill(process),
      witness: this.#witness,
      progressed: () => this.#watchdog.progressed(),
    })
    this.#current = { process, run }
    this.#reports.push(await Promise.race([run.ended(), this.#watchdog.stalled]))
    this.#sentAgain += run.unacknowledged
    this.#current = undefined
  }

  #nextKill(process: number): KillMoment | undefined {
    const { killEvents } = this.#options
    const event = killEvents[process]
    if (event === undefined) return undefined
    const remaining = { messages: this.#messageIds.length, kills: killEvents.length - process }
    return drawKillMoment(event, remaining, this.#killRandom)
  }

  /** Audits the store from this process, which took no part in the deliveries. */
  async #audit(): Promise<Evidence['audit']> {
    const store = await openStore(`sqlite:${this.#storePath}`)
    try {
      return await store.audit()
    } finally {
      await store.close()
    }
  }
}
