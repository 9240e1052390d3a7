/** From this length on an id that stands in a text is no accident, whatever is around it. */
const tellingLength = 8

/** The users that a regulation is about, however many. */
export class SubjectIds {
  readonly #byLength = new Map<number, Set<string>>()

  constructor(userIds: Iterable<string>) {
    for (const userId of userIds) {
      const ids = this.#byLength.get(userId.length) ?? new Set()
      this.#byLength.set(userId.length, ids.add(userId))
    }
  }

  /** Tells whether an id is that of one of them. */
  has(id: string): boolean {
    return this.#byLength.get(id.length)?.has(id) ?? false
  }

  /**
   * Tells whether a text names one of them: contains an id of eight characters or more, or is a shorter
   * one. `order-42` may well have nothing to do with the user `42`.
   */
  areNamedIn(text: string): boolean {
    if (this.has(text)) return text.length > 0
    for (const [length, ids] of this.#byLength) {
      if (length < tellingLength) continue
      for (let start = 0; start + length <= text.length; start++) {
        if (ids.has(text.slice(start, start + length))) return true
      }
    }
    return false
  }
}
