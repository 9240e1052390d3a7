import type { EncodedBatch, Transport, TransportOutcome } from './transport.ts'

/** Maximum number of exchanges that one signal serves. */
const exchangesPerSignalMax = 100

/** A controller that can abort an exchange, with the number of exchanges that it has served. */
interface ExchangeEnd {
  readonly controller: AbortController
  served: number
}

/**
 * Hands batches to a transport, and gives up all exchanges on `abort()`. A signal serves up to 100 exchanges, one after
 * the other, because creating one takes about 10 µs on Node 20. Then a new one replaces it, because objects that a
 * transport derives from a signal pile up.
 */
export class Exchanges {
  readonly #transport: Transport
  readonly #giveUps = new Set<() => void>()
  readonly #spare: ExchangeEnd[] = []

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Hands a batch to the transport. Resolves with undefined on `abort()`, even if the transport does not end. */
  send(batch: EncodedBatch): Promise<TransportOutcome | undefined> {
    return new Promise((resolve, reject) => {
      const end = this.#spare.pop() ?? { controller: new AbortController(), served: 0 }
      const giveUp = (): void => {
        resolve(undefined)
        end.controller.abort()
      }
      this.#giveUps.add(giveUp)
      // An async function also rejects if the transport throws at once.
      const exchange = async () => this.#transport.send(batch, end.controller.signal)
      exchange()
        .finally(() => {
          this.#giveUps.delete(giveUp)
          this.#putBack(end)
        })
        .then(resolve, reject)
    })
  }

  abort(): void {
    for (const giveUp of this.#giveUps) giveUp()
  }

  #putBack(end: ExchangeEnd): void {
    end.served++
    if (end.served < exchangesPerSignalMax && !end.controller.signal.aborted) this.#spare.push(end)
  }
}
