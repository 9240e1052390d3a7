import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import type { ServiceProcess } from './service-process.ts'
import type { Tally } from './tally.ts'

/** How long a client waits before it posts a batch again. */
const retryMs = 20
/** Events per post. */
const batchSize = 5
/** Clients that post at the same time. */
const clients = 8

/** A message, and the destinations at which it must arrive. */
export interface Message {
  readonly messageId: string
  readonly writeKey: string
  readonly destinationIds: readonly string[]
}

export interface LoadOptions {
  /** The processes; clients post to those that have a URL. */
  readonly processes: () => readonly ServiceProcess[]
  /** Makes the next message of a batch. */
  readonly message: (batch: number) => Message
  readonly isEnough: () => boolean
  /** Whether to pause, because too many deliveries are outstanding. */
  readonly isBusy: () => boolean
  /** Called when a service has acknowledged a message. */
  readonly acknowledged: (message: Message, process: number) => void
  /** Returns random numbers from 0 to 1, which choose the process to post to. */
  readonly random: () => number
  /** Counts `refused` and `unanswered` posts. */
  readonly tally: Tally
}

/** Clients that post batches to running processes. A batch is posted until it is answered 200. */
export class Load {
  readonly #options: LoadOptions
  #batches = 0

  constructor(options: LoadOptions) {
    this.#options = options
  }

  /** Resolves once enough messages were sent and all were acknowledged. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: clients }, () => this.#client()))
  }

  async #client(): Promise<void> {
    const { isEnough, message, isBusy } = this.#options
    while (!isEnough()) {
      if (isBusy()) {
        await pause(retryMs)
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
      await pause(retryMs)
    }
  }

  #anyProcess(): ServiceProcess | undefined {
    const { processes, random } = this.#options
    const living = processes().filter(({ url }) => url !== undefined)
    return living[Math.floor(random() * living.length)]
  }
}

/** A service's answer to a batch. */
interface Answer {
  readonly status: number
  readonly rejected: readonly unknown[]
}

/** Posts a batch; undefined without an answer. */
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
