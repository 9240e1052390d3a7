import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** What a receiver is told to do. */
export interface ReceiverOptions {
  /** Messages that are refused once, with 503. */
  readonly refusedOnce: ReadonlySet<string>
  /** How long the next answer takes, in milliseconds. */
  readonly delayMs: () => number
  /** Is told which process sent a request, as soon as it arrived. */
  readonly requested: (process: number) => void
  /** Is told of every message that was taken, right after the answer was handed to the socket. */
  readonly answered: (messageId: string, process: number) => void
}

/** A real endpoint on a free port that takes messages, a few of them not at the first time. */
export class CountingReceiver {
  readonly #server: Server
  readonly #options: ReceiverOptions
  readonly #refused = new Set<string>()

  private constructor(options: ReceiverOptions) {
    this.#options = options
    this.#server = createServer((request, response) => {
      // A request whose sender was killed can break off anywhere.
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  /** Starts one that listens. */
  static async start(options: ReceiverOptions): Promise<CountingReceiver> {
    const receiver = new CountingReceiver(options)
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  /** Where a process finds it: its own URL tells who asks, however late a request is read. */
  urlFor(process: number): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${process}`
  }

  /** Messages that were refused. */
  get refusals(): number {
    return this.#refused.size
  }

  /** Stops listening and closes all connections. */
  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { messageId } = JSON.parse(await text(request)) as { readonly messageId: string }
    const process = Number(request.url?.slice(1))
    const { delayMs, requested } = this.#options
    requested(process)
    const answer = (): void => this.#answer(messageId, process, response)
    setTimeout(answer, delayMs())
  }

  #answer(messageId: string, process: number, response: ServerResponse): void {
    // Its sender is gone.
    if (response.destroyed) return
    const { refusedOnce, answered } = this.#options
    if (refusedOnce.has(messageId) && !this.#refused.has(messageId)) {
      this.#refused.add(messageId)
      response.writeHead(503).end()
      return
    }
    response.writeHead(200).end()
    answered(messageId, process)
  }
}
