import type { Audience, Member, MembersRequest } from '../../audience/index.ts'
import type { Database } from './database.ts'

/** Reads audiences and their members out of a file. */
export class AudienceRows {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Every audience, ordered by key. */
  list(): readonly Audience[] {
    throw new Error(`not built ${typeof this.#database}`)
  }

  /** A page of members. */
  members(request: MembersRequest): readonly Member[] {
    throw new Error(`not built ${request.key} ${typeof this.#database}`)
  }
}
