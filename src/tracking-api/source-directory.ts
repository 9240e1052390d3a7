import { createHash, timingSafeEqual } from 'node:crypto'

/** A source and the keys that its clients write. */
export interface KeyedSource<Source> {
  /** The source. */
  readonly source: Source
  /** One or more, so that a key can be replaced without a gap. */
  readonly writeKeys: readonly string[]
}

/**
 * Finds sources by their write keys. Digests of all keys are compared at every look-up: how long it
 * takes says nothing about a key, whether it is known or which one it resembles.
 */
export class SourceDirectory<Source> {
  readonly #entries: readonly { readonly digest: Buffer; readonly source: Source }[]

  constructor(sources: readonly KeyedSource<Source>[]) {
    this.#entries = sources.flatMap(({ source, writeKeys }) =>
      writeKeys.map((writeKey) => ({ digest: digestOf(writeKey), source })),
    )
  }

  /** The source of a write key; of two sources with the same one the last. */
  find(writeKey: string): Source | undefined {
    const digest = digestOf(writeKey)
    let found: Source | undefined
    for (const entry of this.#entries) {
      if (timingSafeEqual(entry.digest, digest)) found = entry.source
    }
    return found
  }
}

function digestOf(writeKey: string): Buffer {
  return createHash('sha256').update(writeKey).digest()
}
