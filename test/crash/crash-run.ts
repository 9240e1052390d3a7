import { join } from 'node:path'
import { stopwatch } from '../../src/runtime/index.ts'
import { openStore } from '../../src/store/index.ts'
import { CountingReceiver } from './counting-receiver.ts'
import type { Fault } from './deliverer-settings.ts'
import type { Evidence } from './findings.ts'
import { drawKillMoment, type DelivererEvent, type KillMoment } from './kill-plan.ts'
import { Life, type LifeReport } from './life.ts'
import { seededRandom } from './seeded-random.ts'
import { Watchdog } from './watchdog.ts'
import { Witness } from './witness.ts'

/** What a run is made of. */
export interface CrashRunOptions {
  /** The compiled deliverer. */
  readonly program: string
  /** Where the store goes. */
  readonly folder: string
  /** How many messages there are. */
  readonly messages: number
  /** After which events to kill: one kill each, in this order. */
  readonly killEvents: readonly DelivererEvent[]
  /** Numbers from 0 to 1 come from it: how often an event happens before a kill, and how long answers take. */
  readonly seed: number
  /** What the deliverer does wrong; nothing by default. */
  readonly fault?: Fault | undefined
}

/** What a run came to. */
export interface CrashResult extends Evidence {
  /** Processes that were killed. */
  readonly kills: number
  /** Of those, processes that had nothing left to do. */
  readonly killsAtRest: number
  /** Messages that were refused once. */
  readonly refusals: number
  /** Calls that were not acknowledged when their process was killed, and sent again to the next. */
  readonly sentAgain: number
  /** From the start of a process to its readiness, at the most, in milliseconds. */
  readonly restartMsMax: number
  /** Of a restart, to open the store, at the most, in milliseconds. */
  readonly openMsMax: number
  /** All of it, in milliseconds. */
  readonly durationMs: number
}

/** A run fails when nothing new happens for that long. */
const stallMs = 30_000
const answerDelayMsMax = 5
/** One message of so many is refused once. */
const refusedEvery = 10

/**
 * Kills a delivering process over and over while it accepts and delivers, starts it again on the same
 * file, and looks on from outside.
 *
 * @throws Error when nothing new happens any more, or when a process ends that was not to
 */
export async function runCrashes(options: CrashRunOptions): Promise<CrashResult> {
  const run = new CrashRun(options)
  return run.result()
}

class CrashRun {
  readonly #options: CrashRunOptions
  /** Decides when to kill. */
  readonly #fate: () => number
  /** Decides the rest: apart, because nobody knows how many answers there will be. */
  readonly #chance: () => number
  readonly #witness = new Witness(() => this.#watchdog.progressed())
  readonly #messageIds: string[]
  readonly #storePath: string
  readonly #lives: LifeReport[] = []
  readonly #watchdog: Watchdog
  #life: { readonly process: number; readonly life: Life } | undefined
  #sentAgain = 0

  constructor(options: CrashRunOptions) {
    this.#options = options
    this.#fate = seededRandom(options.seed + 1)
    this.#chance = seededRandom(options.seed + 2)
    this.#storePath = join(options.folder, 'evroute.db')
    this.#messageIds = Array.from({ length: options.messages }, (_, index) => `m_${index + 1}`)
    for (const messageId of this.#messageIds) this.#witness.expect(messageId)
    this.#watchdog = new Watchdog(stallMs, () => this.#life?.life.description ?? 'no process')
  }

  async result(): Promise<CrashResult> {
    const elapsedMs = stopwatch()
    const receiver = await this.#startReceiver()
    try {
      const kills = this.#options.killEvents.length
      for (let process = 0; process <= kills; process++) await this.#live(process, receiver)
      const restarts = this.#lives.slice(1)
      return {
        records: this.#witness.records,
        audit: await this.#audit(),
        kills,
        killsAtRest: this.#lives.filter(({ killedAtRest }) => killedAtRest).length,
        refusals: receiver.refusals,
        sentAgain: this.#sentAgain,
        restartMsMax: Math.max(...restarts.map(({ readyMs = 0 }) => readyMs)),
        openMsMax: Math.max(...restarts.map(({ openMs = 0 }) => openMs)),
        durationMs: elapsedMs(),
      }
    } finally {
      this.#watchdog.stop()
      this.#life?.life.kill()
      await receiver.close()
    }
  }

  #startReceiver(): Promise<CountingReceiver> {
    return CountingReceiver.start({
      refusedOnce: this.#refusedOnce(),
      delayMs: () => Math.floor(this.#chance() * (answerDelayMsMax + 1)),
      requested: (process) => {
        if (this.#life?.process === process) this.#life.life.requested()
      },
      answered: (messageId, process) => {
        this.#witness.answered(messageId, process)
        if (this.#life?.process === process) this.#life.life.answered()
      },
    })
  }

  /** One of every ten: evenly, so that no row of refusals opens the circuit breaker. */
  #refusedOnce(): ReadonlySet<string> {
    const refused = new Set<string>()
    for (let start = 0; start < this.#messageIds.length; start += refusedEvery) {
      const messageId = this.#messageIds[start + Math.floor(this.#chance() * refusedEvery)]
      if (messageId !== undefined) refused.add(messageId)
    }
    return refused
  }

  async #live(process: number, receiver: CountingReceiver): Promise<void> {
    const { program, fault } = this.#options
    const life = new Life({
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
    this.#life = { process, life }
    this.#lives.push(await Promise.race([life.over(), this.#watchdog.stalled]))
    this.#sentAgain += life.unacknowledged
    this.#life = undefined
  }

  #nextKill(process: number): KillMoment | undefined {
    const { killEvents } = this.#options
    const event = killEvents[process]
    if (event === undefined) return undefined
    const left = { messages: this.#messageIds.length, kills: killEvents.length - process }
    return drawKillMoment(event, left, this.#fate)
  }

  /** By somebody who had no part in it. */
  async #audit(): Promise<Evidence['audit']> {
    const store = await openStore(`sqlite:${this.#storePath}`)
    try {
      return await store.audit()
    } finally {
      await store.close()
    }
  }
}
