import { erasedReason } from '../erased-reason.ts'
import type { Counts } from './counts.ts'
import type { Database } from './database.ts'
import type { ErasableRow } from './erasure-walk.ts'
import { fromStored } from './stored-text.ts'

/** Takes out of deliveries whom they are about; whoever calls it begins and ends transactions. */
export class DeliveryEraser {
  readonly #counts: Counts
  readonly #fail
  readonly #erase
  readonly #forgetAnswers
  readonly #forgetSeen
  readonly #emptyBody
  readonly #useBodyLess
  readonly #addEmptyBody

  constructor(database: Database, counts: Counts) {
    this.#counts = counts
    const nobody = 'user_id = NULL, previous_id = NULL, message_id = ?, body_id = ?'
    this.#fail = database.prepare(`
      UPDATE deliveries SET ${nobody}, state = 'failed', reason = '${erasedReason}', settled_at = ?
      WHERE id = ?`)
    this.#erase = database.prepare(`
      UPDATE deliveries SET ${nobody},
        reason = CASE state WHEN 'delivered' THEN reason ELSE '${erasedReason}' END
      WHERE id = ?`)
    this.#forgetAnswers = database.prepare("UPDATE requests SET excerpt = '' WHERE delivery_id = ?")
    this.#forgetSeen = database.prepare('DELETE FROM seen WHERE source_id = ? AND message_id = ?')
    this.#emptyBody = database.prepare(
      "UPDATE messages SET body = '' WHERE id = ? AND deliveries <= 1",
    )
    this.#useBodyLess = database.prepare(
      'UPDATE messages SET deliveries = deliveries - 1 WHERE id = ?',
    )
    this.#addEmptyBody = database.prepare(
      "INSERT INTO messages (body, deliveries) VALUES ('', 1) RETURNING id",
    )
  }

  /** Erases a delivery; one that waits fails. */
  erase(row: ErasableRow, nowMs: number): void {
    const { destination_id: destinationId, id } = row
    const changed = [this.#messageIdWithoutUser(row), this.#bodyIdWithoutText(row.body_id)]
    this.#forgetAnswers.run(id)
    if (row.state === 'pending') {
      this.#fail.run(...changed, nowMs, id)
      this.#counts.addFor(fromStored(destinationId), 'pending', -1)
      this.#counts.addFor(fromStored(destinationId), 'failed', 1)
    } else {
      this.#erase.run(...changed, id)
    }
  }

  #messageIdWithoutUser(row: ErasableRow): string {
    const { message_id: messageId, user_id: userId, previous_id: previousId } = row
    const namesUser = [userId, previousId].some((id) => id !== null && messageId.includes(id))
    if (!namesUser) return messageId
    this.#forgetSeen.run(row.source_id, messageId)
    return `erased-${row.id}`
  }

  /** A text of its own, because other deliveries of the event may still have to be sent. */
  #bodyIdWithoutText(bodyId: number): number {
    if (this.#emptyBody.run(bodyId).changes !== 0) return bodyId
    this.#useBodyLess.run(bodyId)
    const row = this.#addEmptyBody.get() as { readonly id: number }
    return row.id
  }
}
