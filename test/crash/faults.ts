import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type {
  AddOutcome,
  DeliveryStore,
  LeasedDelivery,
  NewEvent,
} from '../../src/delivery/index.ts'

type Add = (events: readonly NewEvent[]) => Promise<readonly AddOutcome[]>

/**
 * Acknowledges events before they are stored. It stores them only when the next ones arrive. So the last
 * acknowledged events are not in the store, and are lost whenever the process is killed.
 */
export class EarlyAnswers {
  readonly #add: Add
  #unstored: readonly NewEvent[] = []

  constructor(add: Add) {
    this.#add = add
  }

  /** Acknowledges events at once, and stores the previous ones. */
  add(events: readonly NewEvent[]): Promise<readonly AddOutcome[]> {
    const before = this.#unstored
    this.#unstored = events
    if (before.length > 0) void this.#add(before)
    return Promise.resolve(events.map(() => 'routed'))
  }

  /** Stores the last events. */
  async flush(): Promise<void> {
    if (this.#unstored.length > 0) await this.#add(this.#unstored)
  }
}

/**
 * Records leases in a file, and never leases a delivery again that a killed process held, as if leases never
 * expired.
 */
export function withoutReturn(store: DeliveryStore, path: string): DeliveryStore {
  const lostIds = heldIds(path)
  const note = (word: string, deliveries: readonly Pick<LeasedDelivery, 'id'>[]): void =>
    appendFileSync(path, deliveries.map(({ id }) => `${word} ${id}\n`).join(''))
  return {
    add: async (batch) => {
      const added = await store.add(batch)
      note('leased', added.leased)
      return added
    },
    claim: async (request) => {
      const claimed = await store.claim(request)
      const leased = claimed.filter(({ id }) => !lostIds.has(id))
      note('leased', leased)
      return leased
    },
    settle: async (batch) => {
      const effective = await store.settle(batch)
      const deliveries = batch.settlements.map(({ delivery }) => delivery)
      note('ended', deliveries)
      return effective
    },
    checkWritable: () => store.checkWritable(),
    nextDue: (request) => store.nextDue(request),
    ledger: (request) => store.ledger(request),
    destinationCounts: () => store.destinationCounts(),
    list: (request) => store.list(request),
    story: (request) => store.story(request),
    retry: (request) => store.retry(request),
    discard: (request) => store.discard(request),
    purge: (request) => store.purge(request),
    countLost: (request) => store.countLost(request),
    audit: () => store.audit(),
    close: () => store.close(),
  }
}

function heldIds(path: string): ReadonlySet<number> {
  const held = new Set<number>()
  if (!existsSync(path)) return held
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [word, id] = line.split(' ')
    if (word === 'leased') held.add(Number(id))
    else held.delete(Number(id))
  }
  return held
}
