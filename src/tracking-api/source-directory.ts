import { createHash, timingSafeEqual } from 'node:crypto'

/** A source and the keys that its clients write. */
export interface KeyedSource<Source> {
  /** The source. */
  readonly source: Source
  /** One or more, so that a key can be replaced without a gap. */
  readonly writeKeys: readonly string[]
}

/** How many digests are remembered: of more keys than most services have. */
const rememberedMax = 256

/** Of a key whose digest is remembered, as many characters as a key has by far. */
const rememberedLengthMax = 256

/**
 * Finds sources by their write keys. Digests of all keys are compared at every look-up: how long it
 * takes says nothing about a key, whether it is known or which one it resembles; only, for the digests
 * of the last keys are remembered, whether the very same was looked up before.
 */
export class SourceDirectory<Source> {
  readonly #entries: readonly { readonly digest: Buffer; readonly source: Source }[]
  readonly #remembered = new Map<string, Buffer>()

  constructor(sources: readonly KeyedSource<Source>[]) {
    this.#entries = sources.flatMap(({ source, writeKeys }) =>
      writeKeys.map((writeKey) => ({ digest: digestOf(writeKey), source })),
    )
  }

  /** The source of a write key; of two sources with the same one the last. */
  find(writeKey: string): Source | undefined {
    const digest = this.#digestOf(writeKey)
    let found: Source | undefined
    for (const entry of this.#entries) {
      if (timingSafeEqual(entry.digest, digest)) found = entry.source
    }
    return found
  }

  /** Remembers unknown keys like known ones, so that the time does not tell them apart. */
  #digestOf(writeKey: string): Buffer {
    const remembered = this.#remembered.get(writeKey)
    if (remembered !== undefined) return remembered
    const digest = digestOf(writeKey)
    if (writeKey.length > rememberedLengthMax) return digest
    if (this.#remembered.size === rememberedMax) {
      const [oldest = ''] = this.#remembered.keys()
      this.#remembered.delete(oldest)
    }
    this.#remembered.set(writeKey, digest)
    return digest
  }
}

function digestOf(writeKey: string): Buffer {
  return createHash('sha256').update(writeKey).digest()
}
