import type { AddOutcome } from '../../src/delivery/index.ts'

/** What was seen of one message. Processes are numbered in the order they were started. */
export interface MessageRecord {
  /** What its acknowledgements said. */
  readonly acknowledgements: readonly AddOutcome[]
  /** To which process each 2xx went. */
  readonly answeredTo: readonly number[]
  /** Which process said that it is settled, and how. */
  readonly settlements: readonly { readonly process: number; readonly state: string }[]
}

type Growing<Lists> = {
  [Key in keyof Lists]: Lists[Key] extends readonly (infer Item)[] ? Item[] : never
}

/** Keeps what is seen of messages, from outside of the processes that deliver them. */
export class Witness {
  readonly #records = new Map<string, Growing<MessageRecord>>()
  readonly #progressed: () => void

  /** @param progressed - is told of what is new: a message that is sent for ever is no progress */
  constructor(progressed: () => void) {
    this.#progressed = progressed
  }

  /** Everything that was seen, by messageId. */
  get records(): ReadonlyMap<string, MessageRecord> {
    return this.#records
  }

  /** A message is going to be sent. */
  expect(messageId: string): void {
    this.#records.set(messageId, { acknowledgements: [], answeredTo: [], settlements: [] })
  }

  /** A process answered for it. */
  acknowledged(messageId: string, outcome: AddOutcome): void {
    this.#record(messageId).acknowledgements.push(outcome)
    this.#progressed()
  }

  /** The endpoint took it from a process. */
  answered(messageId: string, process: number): void {
    const { answeredTo } = this.#record(messageId)
    if (answeredTo.push(process) === 1) this.#progressed()
  }

  /** A process said that it came to its end. */
  settled(messageId: string, process: number, state: string): void {
    const { settlements } = this.#record(messageId)
    if (settlements.push({ process, state }) === 1) this.#progressed()
  }

  #record(messageId: string): Growing<MessageRecord> {
    const record = this.#records.get(messageId)
    if (record === undefined) throw new Error(`Nobody sent ${messageId}`)
    return record
  }
}
