/** From this length on an id that stands in a text is no accident, whatever is around it. */
const tellingLength = 8

const alphanumeric = /[\p{L}\p{N}]/u

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
   * Tells whether a text names one of them. A short id has to stand alone: `42` is named by `order-42`,
   * and not by `a42b`, which is as good as random.
   */
  areNamedIn(text: string): boolean {
    for (const [length, ids] of this.#byLength) {
      for (let start = 0; length > 0 && start + length <= text.length; start++) {
        if (!ids.has(text.slice(start, start + length))) continue
        if (length >= tellingLength || standsAlone(text, start, start + length)) return true
      }
    }
    return false
  }
}

function standsAlone(text: string, start: number, end: number): boolean {
  return !alphanumeric.test(text.charAt(start - 1)) && !alphanumeric.test(text.charAt(end))
}
