import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Arrival {
  readonly destinationId: string
  readonly messageId: string
  /** The number of the process that sent it. */
  readonly process: number
}

export interface BusyReceiverOptions {
  /** Returns the delay of the next answer, in milliseconds. */
  readonly delayMs: () => number
  /** Called for every webhook when it arrives. */
  readonly requested: (arrival: Arrival) => void
  /** Called for every accepted webhook, right after its answer was written to the socket. */
  readonly answered: (arrival: Arrival) => void
}

/** The header in which each process sends its number. */
export const processHeader = 'x-process'

/** Real endpoints on one port, one for each destination, which count their requests in flight. */
export class BusyReceiver {
  readonly #server: Server
  readonly #options: BusyReceiverOptions
  readonly #inFlight = new Map<string, number>()
  readonly #inFlightMax = new Map<string, number>()

  private constructor(options: BusyReceiverOptions) {
    this.#options = options
    this.#server = createServer((request, response) => {
      // A request can break off anywhere if its sender is killed.
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  static async start(options: BusyReceiverOptions): Promise<BusyReceiver> {
    const receiver = new BusyReceiver(options)
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  /** Returns the endpoint's URL for a destination. */
  urlFor(destinationId: string): string {
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}/${destinationId}`
  }

  /** The most concurrent requests of each endpoint, by destination. */
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
    // A request is no longer in flight if its sender is killed.
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
