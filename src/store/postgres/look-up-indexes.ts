import type { Step } from './step.ts'

/** A digest of a userId, because one may be longer than what an ordered index takes. */
const userDigest = 'hashtextextended(user_id, 0)'

/** Condition for the index of users. `$n` is the place of the userId. */
export function isOfUser(place: string): string {
  return `${userDigest} = hashtextextended(${place}, 0) AND user_id = ${place}`
}

/**
 * The step after which deliveries are found by their messageId and by their user. Events are added to
 * both, and delivered ones once more. A user may have any number of deliveries, so that these are in the
 * order of their ids; a messageId has few, so that they need no order, and the smaller index does.
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
