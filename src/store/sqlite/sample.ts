import type { Database, Statement } from './database.ts'

/** The id of the message. No delivery has it. */
const id = -1
/** The size of the message: more than a nearly full disk has room for. */
const characters = 64 * 1024

/** A message for the probe of writability. */
export class Sample {
  readonly #write: Statement
  readonly #remove: Statement

  constructor(database: Database) {
    this.#write = database.prepare(
      'INSERT OR REPLACE INTO messages (id, deliveries, body) VALUES (?, 0, ?)',
    )
    this.#remove = database.prepare('DELETE FROM messages WHERE id = ?')
  }

  /** Writes it, and replaces one that a crash has left. */
  write(): void {
    this.#write.run(id, ' '.repeat(characters))
  }

  /** Deletes it. */
  remove(): void {
    this.#remove.run(id)
  }
}
