import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import type { ServiceProcess } from './service-process.ts'
import type { Tally } from './tally.ts'

/** A client waits so long before it posts again what was not taken. */
const againMs = 20
/** Events of one post. */
const batchSize = 5
/** Clients that post at the same time. */
const clients = 8

/** A message to be sent, and where it is to arrive. */
export interface Message {
  readonly messageId: string
  readonly writeKey: string
  readonly destinationIds: readonly string[]
}

/** What load is made of. */
export interface LoadOptions {
  /** The processes; those that have a URL are posted to. */
  readonly processes: () => readonly ServiceProcess[]
  /** Makes the next message of a batch. */
  readonly message: (batch: number) => Message
  /** Whether enough was sent. */
  readonly isEnough: () => boolean
  /** Whether so much is under way that no more is sent for now. */
  readonly isBusy: () => boolean
  /** Is told that a service has answered for a message. */
  readonly acknowledged: (message: Message, process: number) => void
  /** Numbers from 0 to 1: to whom to post. */
  readonly random: () => number
  /** Is told of `refused` and `unanswered` posts. */
  readonly tally: Tally
}

/** Clients that post to the living processes, again and again until they are answered 200. */
export class Load {
  readonly #options: LoadOptions
  #batches = 0

  constructor(options: LoadOptions) {
    this.#options = options
  }

  /** Resolves once enough was sent, and all of it was acknowledged. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: clients }, () => this.#client()))
  }

  async #client(): Promise<void> {
    const { isEnough, message, isBusy } = this.#options
    while (!isEnough()) {
      if (isBusy()) {
        await pause(againMs)
        continue
      }
      const batch = ++this.#batches
      await this.#send(Array.from({ length: batchSize }, () => message(batch)))
    }
  }

  async #send(messages: readonly Message[]): Promise<void> {
    const { tally, acknowledged } = this.#options
    for (;;) {
      const process = this.#anyProcess()
      const answer = await post(process?.url, messages)
      if (answer?.status === 200 && process !== undefined) {
        if (answer.rejected.length > 0) throw new Error(JSON.stringify(answer.rejected))
        for (const message of messages) acknowledged(message, process.number)
        return
      }
      tally.note(answer === undefined ? 'unanswered' : `refused ${answer.status}`)
      await pause(againMs)
    }
  }

  #anyProcess(): ServiceProcess | undefined {
    const { processes, random } = this.#options
    const living = processes().filter(({ url }) => url !== undefined)
    return living[Math.floor(random() * living.length)]
  }
}

/** What a service answers to a batch. */
interface Answer {
  readonly status: number
  readonly rejected: readonly unknown[]
}

/** Posts a batch; undefined when nobody answered. */
async function post(
  url: string | undefined,
  messages: readonly Message[],
): Promise<Answer | undefined> {
  if (url === undefined) return undefined
  const call = { type: 'track', event: 'Order Completed', userId: 'u_1' }
  const batch = messages.map(({ messageId }) => ({ ...call, messageId }))
  try {
    const { statusCode, body } = await request(`${url}/v1/batch`, {
      method: 'POST',
      headers: { 'x-write-key': messages[0]?.writeKey ?? '' },
      body: JSON.stringify({ batch }),
    })
    const { rejected = [] } = (await body.json()) as { readonly rejected?: readonly unknown[] }
    return { status: statusCode, rejected }
  } catch {
    return undefined
  }
}
