import { limits } from '../../model/index.ts'
import type { ReceivedEvent } from '../received-event.ts'

/** A trait as a summary shows it. */
export interface Trait {
  readonly key: string
  readonly text: string
}

/** A trait and its previous value. */
export interface SeenTrait extends Trait {
  /** The previous value as text; undefined if the trait is new. */
  readonly before: string | undefined
}

const traitsMax = 64
const aliasesMax = 100

/** Remembers the traits of users and groups, so that a summary can show changes. */
export class SummaryMemory {
  readonly #subjectsMax: number
  /** The traits of each user and group, the least recently seen first. */
  readonly #subjects = new Map<string, Map<string, string>>()
  /** New names of users, by previous name. The oldest alias comes first. */
  readonly #aliases = new Map<string, string>()
  /** The number of the first request, by messageId. Recently repeated ids come last. */
  readonly #firsts = new Map<string, number>()

  /** @param subjectsMax - maximum number of users and groups; of aliases; of messageIds. Forgets the least recent */
  constructor(subjectsMax = 10_000) {
    this.#subjectsMax = subjectsMax
  }

  get size(): number {
    return this.#subjects.size
  }

  /** Returns the number of the first earlier request with this messageId, if any. Ignores ids that are too long. */
  repeatOf({ seq, body }: Pick<ReceivedEvent, 'seq' | 'body'>): number | undefined {
    const messageId = body?.['messageId']
    if (typeof messageId !== 'string') return undefined
    if (messageId.length > limits.messageIdLengthMax) return undefined
    const first = this.#firsts.get(messageId)
    remember(this.#firsts, [messageId, first ?? seq], this.#subjectsMax)
    return first === seq ? undefined : first
  }

  /** Returns the name to which a user was aliased last, or the user's own name. */
  knownAs(subject: string): string {
    let known = subject
    for (let passed = 0; passed < aliasesMax; passed++) {
      const next = this.#aliases.get(known)
      if (next === undefined) return known
      known = next
    }
    return known
  }

  /** Gives a user a new name. Moves the user's traits to the new name, except those that the new name already has. */
  alias(previous: string, subject: string): void {
    const known = this.knownAs(subject)
    // An alias to itself, or back to an earlier name, changes nothing.
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

  /** Stores traits, and returns them with their previous values. `subject` may be an earlier name of a user. */
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

/** Sets an entry, and makes it the newest. Drops the oldest if there are too many. */
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
