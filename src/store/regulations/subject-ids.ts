/** An id of at least this length is very unlikely to occur in a text by coincidence. */
const tellingLength = 8

/** The userIds of a regulation. Recognises an id that equals one of them, and a text that contains one. */
export class SubjectIds {
  readonly #byLength = new Map<number, Set<string>>()

  constructor(userIds: Iterable<string>) {
    for (const userId of userIds) {
      const ids = this.#byLength.get(userId.length) ?? new Set()
      this.#byLength.set(userId.length, ids.add(userId))
    }
  }

  has(id: string): boolean {
    return this.#byLength.get(id.length)?.has(id) ?? false
  }

  /**
   * Tells whether a text names one of the users: it contains an id of eight characters or more, or equals a
   * shorter id. `order-42` may well have nothing to do with the user `42`.
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
