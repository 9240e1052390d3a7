/** Numbers that share a piece of memory. */
const numbersPerChunk = 32_768

/**
 * Which members the list of a sync has named so far: a bit for each number that the audience has
 * given out, in memory. In a database it would be written for every line of every list, and nobody needs
 * it once the process ends, which ends its syncs.
 */
export class ListedMembers {
  readonly #chunks = new Map<number, Uint8Array>()

  /** Tells whether the list has named the member with a number. */
  has(number: number): boolean {
    const byte = this.#chunks.get(chunkOf(number))?.[byteOf(number)] ?? 0
    return (byte & bitOf(number)) !== 0
  }

  /** The list has named the member with a number. */
  add(number: number): void {
    let chunk = this.#chunks.get(chunkOf(number))
    if (chunk === undefined) {
      chunk = new Uint8Array(numbersPerChunk / 8)
      this.#chunks.set(chunkOf(number), chunk)
    }
    chunk[byteOf(number)] = (chunk[byteOf(number)] ?? 0) | bitOf(number)
  }
}

function chunkOf(number: number): number {
  return Math.floor(number / numbersPerChunk)
}

function byteOf(number: number): number {
  return (number % numbersPerChunk) >> 3
}

function bitOf(number: number): number {
  return 1 << (number % 8)
}

/** A sync that goes on. */
export class Sync {
  /** Its audience. */
  readonly key: string
  /** Its audience, in the database. */
  readonly audienceId: number
  /** Tells it from every other sync of the store. */
  readonly number: number
  /** Whom its list has named; known once it is committed. */
  readonly listed: ListedMembers = new ListedMembers()
  #last: Promise<unknown> = Promise.resolve()

  constructor(audience: { readonly key: string; readonly id: number }, number: number) {
    this.key = audience.key
    this.audienceId = audience.id
    this.number = number
  }

  /** Does one thing after the other: each has to know whom those before it have listed. */
  inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(step)
    this.#last = result.catch(() => undefined)
    return result
  }
}

/** The syncs that go on: one of each audience at the most. */
export class Syncs {
  readonly #byKey = new Map<string, Sync>()
  #begun = 0

  /**
   * Begins a sync; one of the same audience that began before is over.
   *
   * @param number - tells it from every other sync of the store; counted here by default
   */
  begin(
    audience: { readonly key: string; readonly id: number },
    number: number = ++this.#begun,
  ): Sync {
    const sync = new Sync(audience, number)
    this.#byKey.set(audience.key, sync)
    return sync
  }

  /** A sync that goes on; undefined when it is over. */
  find({ key, sync: number }: { readonly key: string; readonly sync: number }): Sync | undefined {
    const sync = this.#byKey.get(key)
    return sync?.number === number ? sync : undefined
  }

  /** Tells whether a sync goes on. */
  has(sync: Sync): boolean {
    return this.#byKey.get(sync.key) === sync
  }

  /** Whichever sync of an audience goes on is over. */
  endOf(key: string): void {
    this.#byKey.delete(key)
  }

  /** A sync is over, unless another one has followed it. */
  end(sync: Sync): void {
    if (this.has(sync)) this.#byKey.delete(sync.key)
  }
}
