import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface ReceiverOptions {
  /** Messages that are refused once, with 503. */
  readonly refusedOnce: ReadonlySet<string>
  /** Returns the delay of the next answer, in milliseconds. */
  readonly delayMs: () => number
  /** Called when a request arrives, with the process that sent it. */
  readonly requested: (process: number) => void
  /** Called for every accepted message, right after its answer was written to the socket. */
  readonly answered: (messageId: string, process: number) => void
}

/** A real endpoint on a free port, which accepts messages, some of them only the second time. */
export class CountingReceiver {
  readonly #server: Server
  readonly #options: ReceiverOptions
  readonly #refused = new Set<string>()

  private constructor(options: ReceiverOptions) {
    this.#options = options
    this.#server = createServer((request, response) => {
      // A request can break off anywhere if its sender is killed.
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  static async start(options: ReceiverOptions): Promise<CountingReceiver> {
    const receiver = new CountingReceiver(options)
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  /** Returns the URL for a process. Its path identifies the sender, even if the request is read late. */
  urlFor(process: number): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${process}`
  }

  /** The number of messages that were refused. */
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
    // The sender was killed.
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
