/** A trait as it is shown. */
export interface Trait {
  /** Its name. */
  readonly key: string
  /** Its value as text. */
  readonly text: string
}

/** A trait beside what was seen of it before. */
export interface SeenTrait extends Trait {
  /** The text it had; undefined when it was not seen before. */
  readonly before: string | undefined
}

/** Traits that are remembered of one user or group. */
const traitsMax = 64

/** What this run saw of each user and group, so that a summary can tell what changed. */
export class SummaryMemory {
  readonly #subjectsMax: number
  /** By subject, the least recently seen first. */
  readonly #subjects = new Map<string, Map<string, string>>()

  /**
   * @param subjectsMax - how many users and groups are remembered, the least recently seen is
   * forgotten first; of each up to 64 traits
   */
  constructor(subjectsMax = 10_000) {
    this.#subjectsMax = subjectsMax
  }

  /** How many users and groups are remembered. */
  get size(): number {
    return this.#subjects.size
  }

  /** Takes in a subject's traits and sets beside each what was known of it. */
  see(subject: string, traits: readonly Trait[]): readonly SeenTrait[] {
    const known = this.#recall(subject)
    return traits.map(({ key, text }) => {
      const before = known.get(key)
      if (before !== undefined || known.size < traitsMax) known.set(key, text)
      return { key, text, before }
    })
  }

  #recall(subject: string): Map<string, string> {
    const known = this.#subjects.get(subject) ?? new Map<string, string>()
    this.#subjects.delete(subject)
    this.#subjects.set(subject, known)
    if (this.#subjects.size > this.#subjectsMax) {
      const [oldest = ''] = this.#subjects.keys()
      this.#subjects.delete(oldest)
    }
    return known
  }
}
