import { hash } from 'node:crypto'

/** A source and the keys that its clients write. */
export interface KeyedSource<Source> {
  /** The source. */
  readonly source: Source
  /** One or more, so that a key can be replaced without a gap. */
  readonly writeKeys: readonly string[]
}

/**
 * Finds sources by their write keys, in the same time however many there are. Keys are looked up by
 * their SHA-256: a stranger cannot choose a digest, so the time of a look-up reveals nothing about a key.
 */
export class SourceDirectory<Source> {
  readonly #sources: ReadonlyMap<string, Source>

  constructor(sources: readonly KeyedSource<Source>[]) {
    this.#sources = new Map(
      sources.flatMap(({ source, writeKeys }) =>
        writeKeys.map((writeKey) => [digestOf(writeKey), source] as const),
      ),
    )
  }

  /** The source of a write key; of two sources with the same one the last. */
  find(writeKey: string): Source | undefined {
    return this.#sources.get(digestOf(writeKey))
  }
}

function digestOf(writeKey: string): string {
  return hash('sha256', writeKey, 'base64')
}
