import type { AddOutcome } from '../../src/delivery/index.ts'
import { stopwatch } from '../../src/runtime/index.ts'
import { DelivererProcess } from './deliverer-process.ts'
import type { DelivererEvent, KillMoment } from './kill-plan.ts'
import type { Witness } from './witness.ts'

/** Calls that may await their acknowledgement. */
const unacknowledgedMax = 32
/** Calls that may be undelivered: enough for a backlog, but never all at once. */
const outstandingMax = 100

export interface DelivererRunOptions {
  readonly process: number
  /** The program to start, and its arguments. */
  readonly argv: readonly string[]
  /** Messages to send, in this order. Those that were not acknowledged are put back at the front. */
  readonly messageIds: string[]
  /** When to kill it; undefined to let it end by itself. */
  readonly kill: KillMoment | undefined
  readonly witness: Witness
  /** Called at every step that the process reports of itself. */
  readonly progressed: () => void
}

/** How the run of a process went. */
export interface DelivererReport {
  /** The time from its start until it was ready, in milliseconds; undefined if it never was. */
  readonly readyMs: number | undefined
  /** How long opening the store took, in milliseconds; undefined if it never opened it. */
  readonly openMs: number | undefined
  /** Whether it was killed because it had nothing left to do, before the planned moment. */
  readonly killedAtRest: boolean
}

/** Runs one process from its start to its end: sends it calls, reads its reports, and kills it. */
export class DelivererRun {
  readonly #options: DelivererRunOptions
  readonly #deliverer: DelivererProcess
  readonly #elapsedMs = stopwatch()
  readonly #unacknowledged = new Set<string>()
  readonly #counts = new Map<DelivererEvent, number>()
  #outstanding = 0
  #loadedMs: number | undefined
  #openMs: number | undefined
  #readyMs: number | undefined
  #isFinishing = false
  #isKilled = false
  #isAtRest = false

  constructor(options: DelivererRunOptions) {
    this.#options = options
    this.#deliverer = new DelivererProcess(options.argv, (line) => this.#heard(line))
  }

  /** Records that a request of this process arrived. */
  requested(): void {
    this.#happened('requested')
  }

  /** Records that the endpoint accepted a message from this process. */
  answered(): void {
    this.#outstanding--
    this.#happened('answered')
    this.#sendCalls()
  }

  /** Its state, for error messages. */
  get description(): string {
    const counts = [...this.#counts].map(([event, count]) => `${event} ${count}`)
    const { process, messageIds, kill } = this.#options
    const aim = kill === undefined ? 'no kill' : `kill at ${kill.event} ${kill.count}`
    const open = `${this.#unacknowledged.size} not acknowledged, ${messageIds.length} to send`
    return [`process ${process}`, aim, ...counts, open].join(', ')
  }

  /**
   * Resolves once the process has ended.
   *
   * @throws Error if it ended unexpectedly, with its stderr
   */
  async ended(): Promise<DelivererReport> {
    const { code, signal, errors } = await this.#deliverer.ended
    const isAsked = this.#isKilled ? signal === 'SIGKILL' : code === 0 && this.#isFinishing
    if (!isAsked) {
      throw new Error(
        `The process ended unexpectedly with ${signal ?? code ?? ''}: ${this.description}\n${errors}`,
      )
    }
    this.#options.messageIds.unshift(...this.#unacknowledged)
    const killedAtRest = this.#isAtRest && this.#isKilled
    return { readyMs: this.#readyMs, openMs: this.#openMs, killedAtRest }
  }

  /** The number of messages that were sent but not acknowledged. */
  get unacknowledged(): number {
    return this.#unacknowledged.size
  }

  kill(): void {
    this.#isKilled = true
    this.#deliverer.kill()
  }

  #heard(line: string): void {
    const [word = '', messageId, detail = ''] = line.split(' ')
    if (messageId === undefined) this.#takeStep(word)
    else this.#takeOutcome(messageId, word, detail)
    this.#sendCalls()
  }

  #takeStep(word: string): void {
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
        // The moment of its kill didn't come, and can't come any more.
        if (this.#options.kill === undefined) this.#deliverer.dismiss()
        else this.kill()
        break
    }
  }

  #takeOutcome(messageId: string, word: string, detail: string): void {
    const { witness, process } = this.#options
    if (word === 'settled') {
      witness.settled(messageId, process, detail)
      this.#happened('settled')
      return
    }
    witness.acknowledged(messageId, detail as AddOutcome)
    this.#unacknowledged.delete(messageId)
    if (detail === 'duplicate') this.#outstanding--
    this.#happened('acknowledged')
  }

  #happened(event: DelivererEvent): void {
    const count = (this.#counts.get(event) ?? 0) + 1
    this.#counts.set(event, count)
    const { kill } = this.#options
    if (kill?.event === event && kill.count === count) this.kill()
  }

  /** Sends calls up to the limits, so that each answer lets it send one more. */
  #sendCalls(): void {
    if (this.#readyMs === undefined || this.#isKilled || this.#isFinishing) return
    const { messageIds } = this.#options
    while (this.#unacknowledged.size < unacknowledgedMax && this.#outstanding < outstandingMax) {
      const messageId = messageIds.shift()
      if (messageId === undefined) break
      this.#unacknowledged.add(messageId)
      this.#outstanding++
      const call = { type: 'track', event: 'Order Completed', userId: 'u_1', messageId }
      this.#deliverer.send(JSON.stringify(call))
    }
    if (messageIds.length > 0 || this.#unacknowledged.size > 0) return
    this.#isFinishing = true
    this.#deliverer.send('finish')
  }
}
