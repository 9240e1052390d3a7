import type { Database } from './database.ts'

/** Data of 64 KB that hardly compresses, which is more than a nearly full server has room for. */
const write = `
  INSERT INTO evroute_messages (id, deliveries, body)
  SELECT nextval('evroute_message_ids'), 0, string_agg(md5(number::text), '')
  FROM generate_series(1, 2048) AS number`

/** Writes a message and deletes it again. */
export async function writeSample(database: Database): Promise<void> {
  await database.script([
    write,
    "DELETE FROM evroute_messages WHERE id = currval('evroute_message_ids')",
  ])
}
