import type { EndpointChange, RequestRecord, SettledDelivery } from '../../model/index.ts'
import type { Observer } from '../../runtime/index.ts'
import { formatCount } from '../output/numbers.ts'

/** Counts what comes to its end, and has what goes wrong told to a person. */
export class DeliveryWatch implements Observer {
  readonly #next: Observer | undefined
  #delivered = 0
  #undelivered = 0

  /** @param next - is told the same; nobody where programs are told of the books only */
  constructor(next: Observer | undefined) {
    this.#next = next
  }

  request(record: RequestRecord): void {
    this.#next?.request(record)
  }

  settled(delivery: SettledDelivery): void {
    if (delivery.state === 'delivered') this.#delivered++
    else this.#undelivered++
    this.#next?.settled(delivery)
  }

  endpoint(change: EndpointChange): void {
    this.#next?.endpoint(change)
  }

  /** What is done, as parts of a line of progress. */
  get progress(): readonly string[] {
    return [
      ...(this.#delivered > 0 ? [`${formatCount(this.#delivered)} delivered`] : []),
      ...(this.#undelivered > 0 ? [`${formatCount(this.#undelivered)} not delivered`] : []),
    ]
  }
}
