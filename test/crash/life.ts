import type { AddOutcome } from '../../src/delivery/index.ts'
import { stopwatch } from '../../src/runtime/index.ts'
import { DelivererProcess } from './deliverer-process.ts'
import type { DelivererEvent, KillMoment } from './kill-plan.ts'
import type { Witness } from './witness.ts'

/** Calls that may wait for their acknowledgement. */
const unacknowledgedMax = 32
/** Calls that may be on their way to the endpoint: enough for a backlog, and never all at once. */
const underwayMax = 100

/** What a life is made of. */
export interface LifeOptions {
  /** The number of the process. */
  readonly process: number
  /** What to start, with its arguments. */
  readonly argv: readonly string[]
  /** Messages to send, first one first; what was not acknowledged is put back. */
  readonly messageIds: string[]
  /** When to kill it; undefined to let it end by itself. */
  readonly kill: KillMoment | undefined
  /** Keeps what is seen. */
  readonly witness: Witness
  /** Is told of every step of the start. */
  readonly progressed: () => void
}

/** How a life went. */
export interface LifeReport {
  /** From its start until it was ready, in milliseconds; undefined when it never was. */
  readonly readyMs: number | undefined
  /** Of that, to open the store, in milliseconds; undefined when it never did. */
  readonly openMs: number | undefined
  /** Whether it was killed with nothing left to do, before the moment of its kill came. */
  readonly killedAtRest: boolean
}

/** One process from its start to its end: gives it calls, hears what it says, and kills it. */
export class Life {
  readonly #options: LifeOptions
  readonly #deliverer: DelivererProcess
  readonly #elapsedMs = stopwatch()
  readonly #unacknowledged = new Set<string>()
  readonly #counts = new Map<DelivererEvent, number>()
  #underway = 0
  #loadedMs: number | undefined
  #openMs: number | undefined
  #readyMs: number | undefined
  #isFinishing = false
  #isKilled = false
  #isAtRest = false

  constructor(options: LifeOptions) {
    this.#options = options
    this.#deliverer = new DelivererProcess(options.argv, (line) => this.#heard(line))
  }

  /** A request of this process arrived. */
  requested(): void {
    this.#happened('requested')
  }

  /** A message of this process was taken. */
  answered(): void {
    this.#underway--
    this.#happened('answered')
    this.#goOn()
  }

  /** Where it stands, for somebody who looks for a fault. */
  get description(): string {
    const counts = [...this.#counts].map(([event, count]) => `${event} ${count}`)
    const { process, messageIds, kill } = this.#options
    const aim = kill === undefined ? 'no kill' : `kill at ${kill.event} ${kill.count}`
    const open = `${this.#unacknowledged.size} not acknowledged, ${messageIds.length} to send`
    return [`process ${process}`, aim, ...counts, open].join(', ')
  }

  /**
   * Resolves once the process is gone.
   *
   * @throws Error when it ended by itself and should not have, with what it wrote to stderr
   */
  async over(): Promise<LifeReport> {
    const { code, signal, errors } = await this.#deliverer.ended
    const isAsked = this.#isKilled ? signal === 'SIGKILL' : code === 0 && this.#isFinishing
    if (!isAsked) {
      throw new Error(
        `It ended by itself with ${signal ?? code ?? ''}: ${this.description}\n${errors}`,
      )
    }
    this.#options.messageIds.unshift(...this.#unacknowledged)
    const killedAtRest = this.#isAtRest && this.#isKilled
    return { readyMs: this.#readyMs, openMs: this.#openMs, killedAtRest }
  }

  /** Messages that were sent and not acknowledged. */
  get unacknowledged(): number {
    return this.#unacknowledged.size
  }

  /** Ends it at once. */
  kill(): void {
    this.#isKilled = true
    this.#deliverer.kill()
  }

  #heard(line: string): void {
    const [word = '', messageId, detail = ''] = line.split(' ')
    if (messageId === undefined) this.#heardOfItself(word)
    else this.#heardOf(messageId, word, detail)
    this.#goOn()
  }

  #heardOfItself(word: string): void {
    this.#options.progressed()
    switch (word) {
      case 'loaded':
        this.#loadedMs = this.#elapsedMs()
        this.#happened('loaded')
        break
      case 'opened':
        this.#openMs = this.#elapsedMs() - (this.#loadedMs ?? 0)
        this.#happened('opened')
        break
      case 'ready':
        this.#readyMs = this.#elapsedMs()
        break
      case 'idle':
        this.#isAtRest = true
        // The moment of the kill did not come, and never will.
        if (this.#options.kill === undefined) this.#deliverer.dismiss()
        else this.kill()
        break
    }
  }

  #heardOf(messageId: string, word: string, detail: string): void {
    const { witness, process } = this.#options
    if (word === 'settled') {
      witness.settled(messageId, process, detail)
      this.#happened('settled')
      return
    }
    witness.acknowledged(messageId, detail as AddOutcome)
    this.#unacknowledged.delete(messageId)
    if (detail === 'duplicate') this.#underway--
    this.#happened('acknowledged')
  }

  #happened(event: DelivererEvent): void {
    const count = (this.#counts.get(event) ?? 0) + 1
    this.#counts.set(event, count)
    const { kill } = this.#options
    if (kill?.event === event && kill.count === count) this.kill()
  }

  /** Sends as much as may be on its way; a call for every answer keeps the pace. */
  #goOn(): void {
    if (this.#readyMs === undefined || this.#isKilled || this.#isFinishing) return
    const { messageIds } = this.#options
    while (this.#unacknowledged.size < unacknowledgedMax && this.#underway < underwayMax) {
      const messageId = messageIds.shift()
      if (messageId === undefined) break
      this.#unacknowledged.add(messageId)
      this.#underway++
      const call = { type: 'track', event: 'Order Completed', userId: 'u_1', messageId }
      this.#deliverer.tell(JSON.stringify(call))
    }
    if (messageIds.length > 0 || this.#unacknowledged.size > 0) return
    this.#isFinishing = true
    this.#deliverer.tell('finish')
  }
}
