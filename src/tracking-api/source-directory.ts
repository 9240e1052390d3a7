import { hash } from 'node:crypto'

/** Finds sources by digests of their write keys, so that the time of a look-up reveals nothing about a key. */
export class SourceDirectory<Source extends { readonly writeKeys: readonly string[] }> {
  readonly #sources: ReadonlyMap<string, Source>

  constructor(sources: readonly Source[]) {
    this.#sources = new Map(
      sources.flatMap((source) =>
        source.writeKeys.map((writeKey) => [digestOf(writeKey), source] as const),
      ),
    )
  }

  /** Finds the source of a write key. The last one wins if two have the same key. */
  find(writeKey: string): Source | undefined {
    return this.#sources.get(digestOf(writeKey))
  }
}

function digestOf(writeKey: string): string {
  return hash('sha256', writeKey, 'base64')
}
