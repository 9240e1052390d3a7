import type { ReceivedEvent } from '../received-event.ts'

/** A trait as text. */
export interface Trait {
  /** The name of the trait. */
  readonly key: string
  /** The value of the trait as text. */
  readonly text: string
}

/** A trait and its previous value. */
export interface SeenTrait extends Trait {
  /** The previous value as text; undefined if the trait is new. */
  readonly before: string | undefined
}

/** Maximum traits to remember per user or group. */
const traitsMax = 64
/** Maximum aliases to follow. */
const aliasesMax = 100

/** The traits of users and groups in this run, so that a summary can show changes. */
export class SummaryMemory {
  readonly #subjectsMax: number
  /** Traits by subject, the least recently seen first. */
  readonly #subjects = new Map<string, Map<string, string>>()
  /** The new name of a user by the previous one, the least recently set first. */
  readonly #aliases = new Map<string, string>()
  /** The first request by messageId, the least recently repeated first. */
  readonly #firsts = new Map<string, number>()

  /**
   * @param subjectsMax - maximum users and groups to remember, with up to 64 traits each, and maximum aliases. The
   * least recently seen are forgotten first.
   */
  constructor(subjectsMax = 10_000) {
    this.#subjectsMax = subjectsMax
  }

  /** The number of users and groups in memory. */
  get size(): number {
    return this.#subjects.size
  }

  /** Returns the number of the first request with the same messageId; undefined if this is the first. */
  repeatOf({ seq, body }: Pick<ReceivedEvent, 'seq' | 'body'>): number | undefined {
    const messageId = body?.['messageId']
    if (typeof messageId !== 'string') return undefined
    const first = this.#firsts.get(messageId)
    remember(this.#firsts, [messageId, first ?? seq], this.#subjectsMax)
    return first === seq ? undefined : first
  }

  /** Returns the current name of a subject: the last of its aliases, or itself if it has none. */
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
   * Notes that a subject has a new name from now on. Moves its traits to the new name, except traits that the new name
   * already has.
   */
  alias(previous: string, subject: string): void {
    const known = this.knownAs(subject)
    // An alias to itself, or back along earlier aliases, changes nothing.
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

  /** Notes a subject's traits, and returns each with its previous value under any of the subject's names. */
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

/** Sets an entry as the newest. Drops the oldest if there are too many. */
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
