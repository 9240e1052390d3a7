import { audienceTables } from '../../../src/store/sqlite/audience-tables.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { moveTables } from '../../../src/store/sqlite/move-tables.ts'
import { regulationTables } from '../../../src/store/sqlite/regulation-tables.ts'
import { firstTables } from './first-tables.ts'

/**
 * What the version before deliveries were keyed by their ids had in a file. No two columns of a row have the
 * same value, where they may differ.
 */
const content = `
  INSERT INTO messages VALUES (1, 2, '{"n":1}'), (2, 1, '{"n":2}'), (3, 2, '{"n":3}'), (4, 1, '{}');
  INSERT INTO deliveries (destination_id, id, source_id, message_id, type, user_id, previous_id,
    body_id, state, lane, accepted_at, due_at, attempts, window_attempts, first_attempt_at,
    expires_at, holds, reason, settled_at, manual_retries) VALUES
    ('ads', 1, 'website', 'm_1', 'track', 'u_1', NULL, 1, 'delivered', 'first', 11, 12, 1, 1, 13, NULL,
      '[]', NULL, 14, 0),
    ('crm', 2, 'website', 'm_1', 'track', 'u_1', NULL, 1, 'pending', 'first', 11, 12, 0, 0, NULL, NULL,
      '[]', NULL, NULL, 0),
    ('ads', 3, 'app', 'm_2', 'alias', 'u_2', 'u_0', 2, 'failed', 'retry', 21, 22, 23, 24, 25, 26,
      '[{"url":"https://example.com/","until":null}]', 'gone', 27, 28),
    ('crm', 4, 'website', 'm_3', 'track', 'u_3', NULL, 3, 'pending', 'first', 31, 32, 0, 0, NULL, NULL,
      '[]', NULL, NULL, 0),
    ('ads', 5, 'website', 'm_3', 'track', NULL, NULL, 3, 'expired', 'first', 31, 32, 0, 0, NULL, 33,
      '[]', 'too late', 34, 0),
    ('ads', 6, 'website', 'm_4', 'delete', 'u_3', NULL, 4, 'delivered', 'first', 41, 41, 1, 1, 41, NULL,
      '[]', NULL, 42, 0);
  INSERT INTO requests VALUES
    ('ads', 1, 1, 2, 'first', 'https://example.com/1', 6, 1.5, 'success', 200, NULL, 'ok'),
    ('ads', 3, 1, 1, 'first', 'https://example.com/2', 3, 1, 'retry', 503, NULL, 'busy'),
    ('ads', 3, 2, 2, 'retry', 'https://example.com/2', 8, 2, 'final', NULL, 'no such host', '');
  INSERT INTO counts VALUES ('', 'accepted', 4), ('', 'routed', 4), ('', 'ids', 6),
    ('ads', 'deliveries', 4), ('ads', 'delivered', 2), ('ads', 'failed', 1), ('ads', 'expired', 1),
    ('crm', 'deliveries', 2), ('crm', 'pending', 2);
  PRAGMA application_id = 0x65767274; PRAGMA user_version = 4;
`

/** Makes such a file, with what the SQL adds to it. */
export async function makeOlderStore(path: string, sql = ''): Promise<void> {
  const database = await openDatabase(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON')
  database.exec(`${firstTables}; ${regulationTables}; ${audienceTables}; ${moveTables}`)
  database.exec(`${content}; ${sql}`)
  database.close()
}

/** All rows that an SQL statement reads out of a file. */
export async function rowsOf(path: string, sql: string): Promise<readonly unknown[]> {
  const database = await openDatabase(path, 'read')
  const rows = database.prepare(sql).all()
  database.close()
  return rows
}
