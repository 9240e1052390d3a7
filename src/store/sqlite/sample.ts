import type { Database, Statement } from './database.ts'

/** The id of a message that no delivery has. */
const id = -1
/** More than a store that is nearly full has room for. */
const characters = 64 * 1024

/** A message that nobody needs: it shows that there is room for others. */
export class Sample {
  readonly #write: Statement
  readonly #remove: Statement

  constructor(database: Database) {
    this.#write = database.prepare(
      'INSERT OR REPLACE INTO messages (id, deliveries, body) VALUES (?, 0, ?)',
    )
    this.#remove = database.prepare('DELETE FROM messages WHERE id = ?')
  }

  /** Writes it; one that a crash has left is replaced. */
  write(): void {
    this.#write.run(id, ' '.repeat(characters))
  }

  /** Takes it away again. */
  remove(): void {
    this.#remove.run(id)
  }
}
