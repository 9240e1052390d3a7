import type { Regulation, RegulationsRequest } from '../../privacy/index.ts'
import type { Database } from './database.ts'

/** Reads regulations out of a file. */
export class RegulationRows {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** One regulation; undefined when there is none. */
  find(id: string): Regulation | undefined {
    throw new Error(`not built ${id} ${typeof this.#database}`)
  }

  /** Regulations, the newest first. */
  list(request: RegulationsRequest): readonly Regulation[] {
    throw new Error(`not built ${request.limit} ${typeof this.#database}`)
  }
}
