import { systemClock } from '../../runtime/index.ts'
import { startWorker, ThreadCalls, workerProgram } from '../../threads/index.ts'
import type { RequestOutcome } from '../outcome.ts'
import { WebhookSender, type Sender, type SenderOptions } from '../sender.ts'
import type {
  RequestResult,
  SenderParts,
  SenderWarning,
  ThreadSenderOptions,
} from './sender-parts.ts'

const program = workerProgram('sender-thread', import.meta.url)

/** Divides senders among threads. A thread starts with its first sender. If it dies, its senders' requests reject. */
export class SenderThreads {
  readonly #threadsMax: number
  readonly #threads: SenderThread[] = []
  #opened = 0

  /** @param threadsMax - at least 1 */
  constructor(threadsMax: number) {
    this.#threadsMax = threadsMax
  }

  /**
   * Opens a sender in one of the threads. Opens it in the calling thread if a bundler left out the thread's program, or
   * for options that cannot be passed on: `compose`, the guard's `resolveName`, or a clock other than the system's.
   */
  open(options: SenderOptions): Sender {
    const { compose, guard, clock = systemClock } = options
    const needsThisThread = compose ?? guard?.options.resolveName
    if (needsThisThread !== undefined || clock !== systemClock || !program.isThere) {
      return new WebhookSender(options)
    }
    const index = this.#opened++ % this.#threadsMax
    return (this.#threads[index] ??= new SenderThread()).open(options)
  }

  /** Ends the threads. Requests in flight are interrupted. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()))
  }
}

/** A thread. It keeps the process alive only while it opens or closes a sender, or requests are in flight. */
class SenderThread {
  readonly #logs = new Map<number, SenderOptions['log']>()
  readonly #calls: ThreadCalls<SenderParts, SenderWarning>
  #lastSender = 0
  #isClosed = false

  constructor() {
    this.#calls = new ThreadCalls(startWorker(program.url), {
      onNotice: ({ sender, message, fields }) => this.#logs.get(sender)?.warn(message, fields),
      closedError: () => new Error('Cannot send webhooks: the sender thread is closed'),
      deathError: (end, cause) =>
        new Error(`Cannot send webhooks: the sender thread ${end}`, { cause }),
    })
  }

  open(options: SenderOptions): Sender {
    const number = ++this.#lastSender
    this.#logs.set(number, options.log)
    const unlessEnded = (error: unknown): void => {
      if (!this.#isClosed && !this.#calls.hasEnded) throw error
    }
    void this.#calls
      .method(
        'thread',
        'open',
      )({ number, options: sendable(options) })
      .catch(unlessEnded)
    const close = this.#calls.method(number, 'close')
    const post = this.#calls.method(number, 'post')
    const ended = ({ outcome, connections }: RequestResult): RequestOutcome => {
      for (const kind of connections) options.onConnection?.(kind)
      return outcome
    }
    const failed = (error: unknown): RequestOutcome => {
      if (!this.#isClosed) throw error
      return { kind: 'interrupted' }
    }
    let closed: Promise<void> | undefined
    return {
      post: ({ url }, { body, messageId, headers }) =>
        closed === undefined
          ? post({ url, body, messageId, headers }).then(ended, failed)
          : Promise.resolve({ kind: 'interrupted' }),
      close: () =>
        (closed ??= close()
          .catch(unlessEnded)
          .finally(() => this.#logs.delete(number))),
    }
  }

  /** Interrupts requests in flight. */
  close(): Promise<void> {
    this.#isClosed = true
    return this.#calls.close()
  }
}

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
