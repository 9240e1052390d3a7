import type { EndpointChange, RequestRecord, SettledDelivery } from '../../model/index.ts'
import type { Observer } from '../../runtime/index.ts'
import { formatCount } from '../output/numbers.ts'

/** Counts settled deliveries and forwards problems to the next observer. */
export class DeliveryWatch implements Observer {
  readonly #next: Observer | undefined
  #delivered = 0
  #undelivered = 0

  /** @param next - shows problems to a person; undefined if programs get only the counts */
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

  /** The counts so far, as parts of a progress line. */
  get progress(): readonly string[] {
    return [
      ...(this.#delivered > 0 ? [`${formatCount(this.#delivered)} delivered`] : []),
      ...(this.#undelivered > 0 ? [`${formatCount(this.#undelivered)} not delivered`] : []),
    ]
  }
}
