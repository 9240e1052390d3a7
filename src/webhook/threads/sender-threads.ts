import { existsSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { Gathering, startWorker, systemClock, workerProgram } from '../../runtime/index.ts'
import type { RequestOutcome } from '../outcome.ts'
import { WebhookSender, type Sender, type SenderOptions } from '../sender.ts'
import type { OutgoingWebhook } from '../standard-webhooks.ts'
import type {
  ConnectionCounts,
  SenderAnswer,
  SenderMessage,
  SenderReport,
  ThreadSenderOptions,
} from './sender-messages.ts'

const program = workerProgram('sender-thread', import.meta.url)

/**
 * Threads that sign and send webhooks, each for some of the senders. A thread starts with its first sender. An
 * unexpected error in a thread ends the process, as it would in this thread.
 */
export class SenderThreads {
  readonly #threadsMax: number
  readonly #threads: SenderThread[] = []
  #opened = 0

  /** @param threadsMax - at least 1 */
  constructor(threadsMax: number) {
    this.#threadsMax = threadsMax
  }

  /**
   * Opens a sender in one of the threads. Opens the sender in this thread if it needs something that cannot be sent
   * to a thread: a function that composes requests or resolves names, or a clock other than the system's. Does the
   * same if the program of the thread is missing, because bundlers leave it out.
   */
  open(options: SenderOptions): Sender {
    const { compose, guard, clock = systemClock } = options
    const needsThisThread = compose ?? guard?.options.resolveName
    if (needsThisThread !== undefined || clock !== systemClock || !existsSync(program)) {
      return new WebhookSender(options)
    }
    const place = this.#opened++ % this.#threadsMax
    return (this.#threads[place] ??= new SenderThread()).open(options)
  }

  /** Ends the threads. Requests in flight are interrupted. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end()))
  }
}

/** A sender whose connections belong to a thread. */
interface OpenedSender extends Pick<SenderOptions, 'onConnection' | 'log'> {
  /** Called once its connections are closed. */
  closed: () => void
}

/** A thread. It keeps the process alive only while requests are in flight or a sender is closing. */
class SenderThread {
  readonly #worker: Worker
  readonly #senders = new Map<number, OpenedSender>()
  readonly #requests = new Map<number, (outcome: RequestOutcome) => void>()
  readonly #messages = new Gathering<SenderMessage>({
    send: (messages) => this.#worker.postMessage(messages),
    later: (send) => void nextTurn().then(send),
  })
  #lastSender = 0
  #lastRequest = 0

  constructor() {
    this.#worker = startWorker(program, {})
    this.#worker.on('message', ({ answers, connections }: SenderReport) => {
      for (const [sender, counts] of connections) this.#count(sender, counts)
      for (const answer of answers) this.#hear(answer)
      if (this.#requests.size === 0) this.#worker.unref()
    })
    this.#worker.unref()
  }

  open(options: SenderOptions): Sender {
    const number = ++this.#lastSender
    const sender: OpenedSender = { ...options, closed: () => undefined }
    this.#senders.set(number, sender)
    this.#messages.say({ kind: 'open', sender: number, options: sendable(options) })
    let closed: Promise<void> | undefined
    return {
      post: ({ url }, webhook) =>
        closed === undefined && this.#senders.has(number)
          ? this.#post(number, url, webhook)
          : Promise.resolve({ kind: 'interrupted' }),
      close: () => (closed ??= this.#close(number, sender)),
    }
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
    for (const interrupt of this.#requests.values()) interrupt({ kind: 'interrupted' })
    for (const { closed } of this.#senders.values()) closed()
    this.#requests.clear()
    this.#senders.clear()
  }

  #post(
    sender: number,
    url: string,
    { body, messageId, headers }: OutgoingWebhook,
  ): Promise<RequestOutcome> {
    const request = ++this.#lastRequest
    if (this.#requests.size === 0) this.#worker.ref()
    return new Promise((resolve) => {
      this.#requests.set(request, resolve)
      const webhook = { body, messageId, headers }
      this.#messages.say({ kind: 'post', sender, request, url, webhook })
    })
  }

  #close(number: number, sender: OpenedSender): Promise<void> {
    if (!this.#senders.has(number)) return Promise.resolve()
    this.#worker.ref()
    this.#messages.say({ kind: 'close', sender: number })
    this.#messages.sendNow()
    return new Promise((resolve) => (sender.closed = resolve))
  }

  #count(sender: number, { opened, reused }: ConnectionCounts): void {
    const { onConnection } = this.#senders.get(sender) ?? {}
    if (onConnection === undefined) return
    for (let count = 0; count < opened; count++) onConnection('opened')
    for (let count = 0; count < reused; count++) onConnection('reused')
  }

  #hear(answer: SenderAnswer): void {
    switch (answer.kind) {
      case 'ended':
        this.#requests.get(answer.request)?.(answer.outcome)
        this.#requests.delete(answer.request)
        break
      case 'closed':
        this.#senders.get(answer.sender)?.closed()
        this.#senders.delete(answer.sender)
        break
      case 'warning':
        this.#senders.get(answer.sender)?.log?.warn(answer.message, answer.fields)
        break
    }
  }
}

/** Returns the options that can be sent to a thread. */
function sendable({ destination, ...options }: SenderOptions): ThreadSenderOptions {
  const { endpoints, sharedSecret, concurrency } = destination
  const { deadlineMs, standardWebhooks, guard } = options
  const { allow, proxy } = guard?.options ?? {}
  return {
    destination: { endpoints, sharedSecret, concurrency },
    standardWebhooks,
    guard: guard && { ...(allow && { allow }), ...(proxy != null && { proxy }) },
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  }
}
