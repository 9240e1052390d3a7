import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Destination } from '../../../dist/model/index.js'
import type { PipelineOptions, TraceRequest } from '../../../dist/pipeline/index.js'
import { Gathering } from '../../../dist/runtime/gathering.js'
import type { RequestOutcome } from '../../../dist/webhook/index.js'
import type { SenderJob, SenderMessage, SenderThreadSettings } from './sender-messages.ts'

/** Threads that sign and post for the main thread; each has a shard of the destinations. */
export class SenderThreads {
  readonly #threads: readonly SenderThread[]
  readonly #threadOf: ReadonlyMap<string, SenderThread>

  private constructor(threads: readonly SenderThread[], destinations: readonly Destination[]) {
    this.#threads = threads
    this.#threadOf = new Map(
      destinations.flatMap(({ id }, index) => {
        const thread = threads[index % threads.length]
        return thread === undefined ? [] : [[id, thread] as const]
      }),
    )
  }

  /** Starts so many. */
  static async start(
    count: number,
    { destinations, isFake }: SenderThreadSettings,
  ): Promise<SenderThreads> {
    const shards = Array.from({ length: count }, (_, shard) =>
      destinations.filter((_destination, index) => index % count === shard),
    )
    const threads = await Promise.all(
      shards.map((shard) => SenderThread.start({ destinations: shard, isFake })),
    )
    return new SenderThreads(threads, destinations)
  }

  /** Their ids in the operating system. */
  get ids(): readonly string[] {
    return this.#threads.map(({ id }) => id)
  }

  /** What a pipeline sends requests with, in place of its own sender; nothing without threads. */
  get trace(): PipelineOptions['trace'] {
    if (this.#threads.length === 0) return undefined
    return ({ delivery, endpoint }: Parameters<TraceRequest>[0]) => {
      const { destinationId, messageId, body } = delivery
      const thread = this.#threadOf.get(destinationId)
      if (thread === undefined) throw new Error(`No thread sends to ${destinationId}`)
      return thread.post({ destinationId, endpoint, messageId, body })
    }
  }

  /** Ends them. */
  async end(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end()))
  }
}

class SenderThread {
  readonly id: string
  readonly #worker: Worker
  readonly #waiting = new Map<number, (outcome: RequestOutcome) => void>()
  readonly #jobs: Gathering<SenderJob>
  #last = 0

  private constructor(worker: Worker, id: string) {
    this.id = id
    this.#worker = worker
    this.#jobs = new Gathering<SenderJob>({
      send: (jobs) => worker.postMessage(jobs),
      later: (send) => void setImmediate(send),
    })
    worker.on('message', (message: SenderMessage) => this.#hear(message))
  }

  static async start(settings: SenderThreadSettings): Promise<SenderThread> {
    const worker = new Worker(new URL('sender-thread.ts', import.meta.url), {
      workerData: settings,
    })
    const [message] = (await once(worker, 'message')) as [SenderMessage]
    if (message.kind !== 'started') throw new Error('A sender thread did not start')
    return new SenderThread(worker, message.threadId)
  }

  post(job: Omit<SenderJob, 'number'>): Promise<RequestOutcome> {
    const number = ++this.#last
    const { destinationId, endpoint, messageId, body } = job
    return new Promise((resolve) => {
      this.#waiting.set(number, resolve)
      this.#jobs.say({ number, destinationId, endpoint, messageId, body })
    })
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }

  #hear(message: SenderMessage): void {
    if (message.kind === 'started') return
    for (const { number, outcome } of message.results) {
      this.#waiting.get(number)?.(outcome)
      this.#waiting.delete(number)
    }
  }
}
