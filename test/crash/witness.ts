import type { AddOutcome } from '../../src/delivery/index.ts'

/** What was observed of one message. Processes are numbered in the order in which they start. */
export interface MessageRecord {
  /** The outcome of each acknowledgement. */
  readonly acknowledgements: readonly AddOutcome[]
  /** The process that got each 2xx. */
  readonly answeredTo: readonly number[]
  /** The process that reported each settlement, and the state. */
  readonly settlements: readonly { readonly process: number; readonly state: string }[]
}

type Growing<Lists> = {
  [Key in keyof Lists]: Lists[Key] extends readonly (infer Item)[] ? Item[] : never
}

/** Records what happens to messages, from outside the processes that deliver them. */
export class Witness {
  readonly #records = new Map<string, Growing<MessageRecord>>()
  readonly #progressed: () => void

  /** @param progressed - called for everything new; a message that is sent again is no progress */
  constructor(progressed: () => void) {
    this.#progressed = progressed
  }

  /** All records, by messageId. */
  get records(): ReadonlyMap<string, MessageRecord> {
    return this.#records
  }

  /** Adds a message that will be sent. */
  expect(messageId: string): void {
    this.#records.set(messageId, { acknowledgements: [], answeredTo: [], settlements: [] })
  }

  /** Records that a process acknowledged a message. */
  acknowledged(messageId: string, outcome: AddOutcome): void {
    this.#record(messageId).acknowledgements.push(outcome)
    this.#progressed()
  }

  /** Records that the endpoint accepted a message from a process. */
  answered(messageId: string, process: number): void {
    const { answeredTo } = this.#record(messageId)
    if (answeredTo.push(process) === 1) this.#progressed()
  }

  /** Records that a process reported a settlement. */
  settled(messageId: string, process: number, state: string): void {
    const { settlements } = this.#record(messageId)
    if (settlements.push({ process, state }) === 1) this.#progressed()
  }

  #record(messageId: string): Growing<MessageRecord> {
    const record = this.#records.get(messageId)
    if (record === undefined) throw new Error(`No message ${messageId} was sent`)
    return record
  }
}
