const numbersPerChunk = 32_768

/**
 * The members that a sync's list has named so far: one bit for each member number. A database would need a write for
 * every line. Memory is enough, because a sync ends with its process.
 */
export class ListedMembers {
  readonly #chunks = new Map<number, Uint8Array>()

  has(number: number): boolean {
    const chunk = this.#chunks.get(Math.floor(number / numbersPerChunk))
    return ((chunk?.[byteOf(number)] ?? 0) & bitOf(number)) !== 0
  }

  add(number: number): void {
    const index = Math.floor(number / numbersPerChunk)
    const chunk = this.#chunks.get(index) ?? new Uint8Array(numbersPerChunk / 8)
    this.#chunks.set(index, chunk)
    chunk[byteOf(number)] = (chunk[byteOf(number)] ?? 0) | bitOf(number)
  }
}

function byteOf(number: number): number {
  return (number % numbersPerChunk) >> 3
}

function bitOf(number: number): number {
  return 1 << (number % 8)
}

/** The result of a step whose sync is already over. */
export const superseded = Object.freeze({ kind: 'superseded' as const })
/** Says that a step changed nothing, because its sync is over. */
export type Superseded = typeof superseded

/** A sync in progress, with the key and the id of its audience. */
export class Sync {
  readonly key: string
  readonly audienceId: number
  /** Identifies the sync in the store. */
  readonly number: number
  /** The members that its list has named; updated after each commit. */
  readonly listed: ListedMembers = new ListedMembers()
  #last: Promise<unknown> = Promise.resolve()

  constructor(audience: { readonly key: string; readonly id: number }, number: number) {
    this.key = audience.key
    this.audienceId = audience.id
    this.number = number
  }

  /** Runs steps one after the other, because each must know the members that earlier steps have listed. */
  inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(step)
    this.#last = result.catch(() => undefined)
    return result
  }
}
