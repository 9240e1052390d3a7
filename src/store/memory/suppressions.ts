import { isOfSource } from '../source-scope.ts'

/** Whose calls are dropped: the sources they are dropped from, by user. */
export class Suppressions {
  readonly #byUser = new Map<string, { isEverywhere: boolean; readonly sourceIds: Set<string> }>()

  /** Tells whether the calls of a user are dropped that come from a source, or from a replay of it. */
  has(sourceId: string, userId: string): boolean {
    const entry = this.#byUser.get(userId)
    if (entry === undefined) return false
    return entry.isEverywhere || [...entry.sourceIds].some((id) => isOfSource(sourceId, id))
  }

  /** Drops the calls of users from some sources; null stands for all. */
  add(userIds: readonly string[], sourceIds: readonly string[] | null): void {
    for (const userId of userIds) {
      const entry = this.#byUser.get(userId) ?? { isEverywhere: false, sourceIds: new Set() }
      this.#byUser.set(userId, entry)
      if (sourceIds === null) entry.isEverywhere = true
      for (const sourceId of sourceIds ?? []) entry.sourceIds.add(sourceId)
    }
  }

  /** Accepts the calls of users again that were dropped from some sources; null lifts everything. */
  lift(userIds: readonly string[], sourceIds: readonly string[] | null): void {
    for (const userId of userIds) {
      const entry = this.#byUser.get(userId)
      for (const sourceId of sourceIds ?? []) entry?.sourceIds.delete(sourceId)
      const isEmpty = entry?.sourceIds.size === 0 && !entry.isEverywhere
      if (sourceIds === null || isEmpty) this.#byUser.delete(userId)
    }
  }
}
