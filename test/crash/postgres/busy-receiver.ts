import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A webhook that arrived. */
export interface Arrival {
  /** The destination that it was for. */
  readonly destinationId: string
  /** What it is about. */
  readonly messageId: string
  /** The number of the process that sent it. */
  readonly process: number
}

/** What a receiver is told to do. */
export interface BusyReceiverOptions {
  /** How long the next answer takes, in milliseconds. */
  readonly delayMs: () => number
  /** Is told of every webhook as soon as it arrived. */
  readonly requested: (arrival: Arrival) => void
  /** Is told of every webhook that was taken, right after the answer was handed to the socket. */
  readonly answered: (arrival: Arrival) => void
}

/** What tells the receiver who sends: a header that each process adds. */
export const processHeader = 'x-process'

/** Real endpoints on a free port, one for each destination, that count what they have in flight. */
export class BusyReceiver {
  readonly #server: Server
  readonly #options: BusyReceiverOptions
  readonly #inFlight = new Map<string, number>()
  readonly #inFlightMax = new Map<string, number>()

  private constructor(options: BusyReceiverOptions) {
    this.#options = options
    this.#server = createServer((request, response) => {
      // A request whose sender was killed can break off anywhere.
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  /** Starts one that listens. */
  static async start(options: BusyReceiverOptions): Promise<BusyReceiver> {
    const receiver = new BusyReceiver(options)
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  /** The endpoint of a destination. */
  urlFor(destinationId: string): string {
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}/${destinationId}`
  }

  /** The most requests that each destination's endpoint had at the same time. */
  get inFlightMax(): ReadonlyMap<string, number> {
    return this.#inFlightMax
  }

  /** Stops listening and closes all connections. */
  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const destinationId = request.url?.slice(1) ?? ''
    const ended = this.#begin(destinationId)
    // Of a sender that is killed nothing is in flight any more.
    response.once('close', ended)
    const { messageId } = JSON.parse(await text(request)) as { readonly messageId: string }
    const arrival = { destinationId, messageId, process: Number(request.headers[processHeader]) }
    const { delayMs, requested, answered } = this.#options
    requested(arrival)
    setTimeout(() => {
      if (response.destroyed) return
      ended()
      response.writeHead(200).end()
      answered(arrival)
    }, delayMs())
  }

  #begin(destinationId: string): () => void {
    const count = (this.#inFlight.get(destinationId) ?? 0) + 1
    this.#inFlight.set(destinationId, count)
    const most = Math.max(this.#inFlightMax.get(destinationId) ?? 0, count)
    this.#inFlightMax.set(destinationId, most)
    let isOver = false
    return () => {
      if (!isOver) this.#inFlight.set(destinationId, (this.#inFlight.get(destinationId) ?? 0) - 1)
      isOver = true
    }
  }
}
