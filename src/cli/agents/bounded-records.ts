/** A record for an agent. Others wrote its texts. */
export type AgentRecord = Readonly<Record<string, unknown>>

/** Maximum length of a field as JSON, and of all records of one result together. */
const fieldCharactersMax = 8_000
const resultCharactersMax = 64_000

/** The records of one result, within what an agent can read at once. */
export class BoundedRecords {
  readonly #records: AgentRecord[] = []
  #charactersLeft = resultCharactersMax
  #omitted = 0

  /** Adds a record. Cuts long fields. Omits it if the result is full, unless it is a summary. */
  add(record: AgentRecord): void {
    const cut = Object.fromEntries(
      Object.entries(record).map(([name, value]) => [name, cutField(value)]),
    )
    this.#charactersLeft -= JSON.stringify(cut).length
    if (this.#charactersLeft >= 0 || record['kind'] === 'summary') this.#records.push(cut)
    else this.#omitted += 1
  }

  /** The records so far, and how many more there were. */
  get result(): { readonly records: readonly AgentRecord[]; readonly omitted: number } {
    return { records: this.#records, omitted: this.#omitted }
  }
}

/** Returns the beginning of a long value, and its whole length. */
function cutField(value: unknown): unknown {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) as string | undefined)
  if (text === undefined || text.length <= fieldCharactersMax) return value
  return { cut: cutText(text), characters: text.length }
}

/** Returns the beginning of a long text. */
export function cutText(text: string): string {
  return text.slice(0, fieldCharactersMax)
}
