import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type {
  AddOutcome,
  DeliveryStore,
  LeasedDelivery,
  NewEvent,
} from '../../src/delivery/index.ts'

type Add = (events: readonly NewEvent[]) => Promise<readonly AddOutcome[]>

/**
 * Answers for events before they are stored. It stores them when the next ones arrive, so that the last
 * ones it answered for are never in the store: whenever it is killed, it loses them.
 */
export class EarlyAnswers {
  readonly #add: Add
  #behind: readonly NewEvent[] = []

  constructor(add: Add) {
    this.#add = add
  }

  /** Answers at once. */
  add(events: readonly NewEvent[]): Promise<readonly AddOutcome[]> {
    const before = this.#behind
    this.#behind = events
    if (before.length > 0) void this.#add(before)
    return Promise.resolve(events.map(() => 'routed'))
  }

  /** Stores what was answered for last. */
  async flush(): Promise<void> {
    if (this.#behind.length > 0) await this.#add(this.#behind)
  }
}

/**
 * Remembers in a file what was given out, and never gives out again what a process held that died: a
 * lease without an end, as a row would have it that nobody ever sets back.
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
      const given = claimed.filter(({ id }) => !lostIds.has(id))
      note('leased', given)
      return given
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
    backlogs: () => store.backlogs(),
    list: (request) => store.list(request),
    story: (request) => store.story(request),
    retry: (request) => store.retry(request),
    discard: (request) => store.discard(request),
    purge: (request) => store.purge(request),
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
