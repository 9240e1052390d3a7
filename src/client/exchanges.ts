import type { EncodedBatch, Transport, TransportOutcome } from './transport.ts'

/** Exchanges that one signal serves at the most. */
const exchangesPerSignalMax = 100

/** What can end an exchange, and how many it has served before. */
interface ExchangeEnd {
  readonly controller: AbortController
  served: number
}

/**
 * Hands batches to a transport, and gives all of them up when it is told to.
 *
 * A signal belongs to one exchange at a time. When that has ended it serves the next, as making one
 * costs more than most else about a small batch; but none serves for ever, as what a transport derives
 * from it is forgotten only with it.
 */
export class Exchanges {
  readonly #transport: Transport
  readonly #giveUps = new Set<() => void>()
  readonly #spare: ExchangeEnd[] = []

  /** @param transport - the way out */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Hands a batch to the transport and waits for its outcome, but not beyond `abort()`, whatever the
   * transport does; undefined then. Rejects when the transport does.
   */
  send(batch: EncodedBatch): Promise<TransportOutcome | undefined> {
    return new Promise((resolve, reject) => {
      const end = this.#spare.pop() ?? { controller: new AbortController(), served: 0 }
      const giveUp = (): void => {
        resolve(undefined)
        end.controller.abort()
      }
      this.#giveUps.add(giveUp)
      this.#transport
        .send(batch, end.controller.signal)
        .finally(() => {
          this.#giveUps.delete(giveUp)
          this.#putBack(end)
        })
        .then(resolve, reject)
    })
  }

  /** Gives up what is under way, and leaves alone what has ended. */
  abort(): void {
    for (const giveUp of this.#giveUps) giveUp()
  }

  #putBack(end: ExchangeEnd): void {
    end.served++
    if (end.served < exchangesPerSignalMax && !end.controller.signal.aborted) this.#spare.push(end)
  }
}
