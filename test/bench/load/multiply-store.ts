import { DatabaseSync } from '@photostructure/sqlite'

/** The file may be lost if this process dies, and the cache should hold all of it. */
const settings = 'PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000'

/**
 * Makes a store larger by a factor. Copies every delivery, with its body and requests, under new ids, and
 * scales the counts.
 */
export function multiplyStore(path: string, times: number): void {
  const database = new DatabaseSync(path)
  try {
    database.exec(`${settings}; BEGIN`)
    const { ids } = database
      .prepare("SELECT count AS ids FROM counts WHERE name = 'ids'")
      .get() as {
      readonly ids: number
    }
    for (const table of ['messages', 'deliveries', 'requests']) {
      database.exec(`CREATE TEMP TABLE copied_${table} AS SELECT * FROM ${table}`)
    }
    for (let copy = 1; copy < times; copy++) database.exec(copyUnder(ids))
    database.exec(`UPDATE counts SET count = count * ${times}; COMMIT`)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
}

/** Returns SQL that adds a copy, whose ids are greater by `ids` than those of the previous copy. */
function copyUnder(ids: number): string {
  return `
    UPDATE copied_messages SET id = id + ${ids};
    INSERT INTO messages SELECT * FROM copied_messages;
    UPDATE copied_deliveries SET id = id + ${ids}, body_id = body_id + ${ids},
      message_id = lower(hex(randomblob(16)));
    INSERT INTO deliveries SELECT * FROM copied_deliveries;
    INSERT INTO seen SELECT source_id, message_id, accepted_at FROM copied_deliveries
      ORDER BY source_id, message_id;
    UPDATE copied_requests SET delivery_id = delivery_id + ${ids};
    INSERT INTO requests SELECT * FROM copied_requests;`
}
