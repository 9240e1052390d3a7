import type { ReceivedEvent } from '../received-event.ts'

/** A trait as it is shown. */
export interface Trait {
  /** Its name. */
  readonly key: string
  /** Its value as text. */
  readonly text: string
}

/** A trait and its value before. */
export interface SeenTrait extends Trait {
  /** The text it had; undefined when it was not seen before. */
  readonly before: string | undefined
}

/** Traits that are remembered of one user or group. */
const traitsMax = 64
/** Aliases that are followed one after the other. */
const aliasesMax = 100

/** What this run saw of each user and group, so that a summary can tell what changed. */
export class SummaryMemory {
  readonly #subjectsMax: number
  /** By subject, the least recently seen first. */
  readonly #subjects = new Map<string, Map<string, string>>()
  /** Whom a user is known as now, by the subject before, the least recently told first. */
  readonly #aliases = new Map<string, string>()
  /** The first request with a messageId, the least recently repeated first. */
  readonly #firsts = new Map<string, number>()

  /**
   * @param subjectsMax - how many users and groups are remembered, the least recently seen is
   * forgotten first; of each up to 64 traits. As many aliases are remembered
   */
  constructor(subjectsMax = 10_000) {
    this.#subjectsMax = subjectsMax
  }

  /** How many users and groups are remembered. */
  get size(): number {
    return this.#subjects.size
  }

  /** The number of the first request with the same messageId; undefined if this is the first. */
  repeatOf({ seq, body }: Pick<ReceivedEvent, 'seq' | 'body'>): number | undefined {
    const messageId = body?.['messageId']
    if (typeof messageId !== 'string') return undefined
    const first = this.#firsts.get(messageId)
    remember(this.#firsts, [messageId, first ?? seq], this.#subjectsMax)
    return first === seq ? undefined : first
  }

  /** Whom a subject is known as now: the end of its aliases, itself where it has none. */
  knownAs(subject: string): string {
    let known = subject
    for (let passed = 0; passed < aliasesMax; passed++) {
      const next = this.#aliases.get(known)
      if (next === undefined) return known
      known = next
    }
    return known
  }

  /**
   * Notes that a subject has another name from now on. The traits of the old name count for the new one,
   * unless it has its own.
   */
  alias(previous: string, subject: string): void {
    const known = this.knownAs(subject)
    // An alias of itself, or back to whom it came from, says nothing new.
    if (previous === known) return
    const before = this.#subjects.get(previous)
    if (before !== undefined) {
      const others = [...before].map(([key, text]) => ({ key, text }))
      const own = this.#recall(known)
      this.see(
        known,
        others.filter(({ key }) => !own.has(key)),
      )
    }
    this.#subjects.delete(previous)
    remember(this.#aliases, [previous, known], this.#subjectsMax)
  }

  /** Notes a subject's traits, each beside its value before under any of its names. */
  see(subject: string, traits: readonly Trait[]): readonly SeenTrait[] {
    const known = this.#recall(this.knownAs(subject))
    return traits.map(({ key, text }) => {
      const before = known.get(key)
      if (before !== undefined || known.size < traitsMax) known.set(key, text)
      return { key, text, before }
    })
  }

  #recall(subject: string): Map<string, string> {
    const known = this.#subjects.get(subject) ?? new Map<string, string>()
    remember(this.#subjects, [subject, known], this.#subjectsMax)
    return known
  }
}

/** Sets an entry as the newest; the oldest goes where there are too many. */
function remember<Value>(
  entries: Map<string, Value>,
  [key, value]: readonly [string, Value],
  entriesMax: number,
): void {
  entries.delete(key)
  entries.set(key, value)
  if (entries.size <= entriesMax) return
  const [oldest = ''] = entries.keys()
  entries.delete(oldest)
}
