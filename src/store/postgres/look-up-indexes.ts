import type { Step } from './step.ts'

/** A digest of a userId, because one may be longer than what an ordered index takes. */
const userDigest = 'hashtextextended(user_id, 0)'

/** Condition for the index of users. `$n` is the place of the userId. */
export function isOfUser(place: string): string {
  return `${userDigest} = hashtextextended(${place}, 0) AND user_id = ${place}`
}

/**
 * The step after which deliveries are found by their messageId and by their user. A user may have any
 * number of deliveries, so that these are in the order of their ids. A messageId has few, so that a hash
 * will do: it costs an add no time that could be measured, and an ordered index is larger.
 *
 * A row enters both when it is added and again when it is settled. With 300,000 rows, batches of 100 and
 * both indexes, an add takes 13 % longer, a settlement 24 %, and an event writes 2,710 bytes of WAL
 * rather than 2,010.
 */
export const lookUpIndexes: Step = {
  kind: 'expand',
  changes: [],
  online: {
    indexes: [
      {
        name: 'evroute_deliveries_of_message',
        on: 'ON evroute_deliveries USING hash (message_id)',
      },
      {
        name: 'evroute_deliveries_of_user',
        on: `ON evroute_deliveries (${userDigest}, id) WHERE user_id IS NOT NULL`,
      },
    ],
    statements: [],
  },
}
