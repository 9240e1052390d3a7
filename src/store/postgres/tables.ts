import { raw, sql, type Sql } from '../sql.ts'

const text = 'text COLLATE "C" NOT NULL'
const number = 'bigint NOT NULL'

/** Settings for a table with few rows that change all the time. */
const busy = `autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0`

const firstCounts = [
  ...['accepted', 'routed', 'filtered', 'duplicate', 'suppressed', 'deliveries', 'pending'],
  ...['delivered', 'failed', 'expired', 'purged_delivered', 'purged_failed', 'purged_expired'],
].map((name) => `${name} ${number} DEFAULT 0`)

/**
 * The tables of the first version that used PostgreSQL. Processes of that version may still use the database, so
 * this list never changes. The tables are in the first schema of the session's search_path.
 *
 * - `messages`: the bodies of webhooks. `deliveries` is the number of an event's deliveries that share the body
 * - `deliveries`: no index includes the lease, and `fillfactor` leaves room in each page for the new row. So a claim
 *   writes to no index
 * - `requests`: requests and their answers, partitioned by day, because only dropping a partition returns disk
 *   space. Failures have their own partitions, because they are kept longer
 * - `seen`: messageIds, for deduplication
 * - `counts`: the ledger, and the numbers of purged deliveries. A count is the sum of several rows
 * - `moves`: has one row once a store has moved here from a SQLite file. `store_id` is the id of the store. The
 *   first version stored the row when a move began, and set `completed_at` when the move was complete
 * - `suppressions`: users whose calls are dropped, each with a source; '' stands for all sources. The index is a hash,
 *   because a userId may be too long for an ordered index
 * - `gate`: has no rows. Transactions that add events share its lock. A transaction that stores a regulation locks the
 *   table exclusively
 * - `regulations`: each covers the deliveries up to `last_id`. Its notifications have consecutive ids, up to
 *   `last_notification_id`. `streams` counts the notifications by source, destination and state, when the regulation is
 *   created and when it finishes. `at_key` and `at_id` identify the last row that the erasure has reached
 * - `regulation_left`: deliveries that were leased when an erasure reached them
 * - `audiences`: `numbers` is how many member numbers were assigned; no number is used twice. `sync` is the number
 *   of the current sync, or null. A sync with a different number is over
 * - `members`: keyed by digests of the identifiers, which may be too long for a key
 * - `processes`: used only by the first version
 * - `regulation_archives`: the archives that a regulation waits for
 */
export const firstTables: readonly string[] = [
  `CREATE TABLE evroute_messages (id bigint PRIMARY KEY, deliveries integer NOT NULL, body text NOT NULL)
    WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)`,
  'CREATE SEQUENCE evroute_message_ids OWNED BY evroute_messages.id',

  `CREATE TABLE evroute_deliveries (
    destination_id ${text}, id ${number}, body_id ${number},
    accepted_at ${number}, due_at ${number}, first_attempt_at bigint, expires_at bigint, settled_at bigint,
    lease_holder bigint, lease bigint, leased_until bigint,
    attempts integer NOT NULL, window_attempts integer NOT NULL, manual_retries integer NOT NULL,
    source_id ${text}, message_id ${text}, type ${text},
    user_id text COLLATE "C", previous_id text COLLATE "C", is_erased boolean NOT NULL DEFAULT false,
    state ${text} CHECK (state IN ('pending', 'delivered', 'failed', 'expired')),
    lane ${text} CHECK (lane IN ('first', 'retry', 'manual')),
    holds text NOT NULL, reason text,
    PRIMARY KEY (destination_id, id)
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05)`,
  'CREATE SEQUENCE evroute_delivery_ids OWNED BY evroute_deliveries.id',
  `CREATE INDEX evroute_deliveries_waiting ON evroute_deliveries (destination_id, lane, due_at, id)
    WHERE state = 'pending'`,
  `CREATE INDEX evroute_deliveries_ended ON evroute_deliveries (destination_id, state, settled_at)
    WHERE state <> 'pending'`,

  'CREATE SEQUENCE evroute_request_ids',
  `CREATE TABLE evroute_requests (
    destination_id ${text}, delivery_id ${number},
    id ${number} DEFAULT nextval('evroute_request_ids'), written_at ${number},
    at ${number}, duration double precision NOT NULL, attempt integer NOT NULL, status integer,
    lane ${text}, outcome ${text}, url text NOT NULL, error text, excerpt text NOT NULL
  ) PARTITION BY LIST (outcome)`,
  `CREATE INDEX evroute_requests_of_delivery ON evroute_requests (destination_id, delivery_id)`,
  `CREATE TABLE evroute_requests_success PARTITION OF evroute_requests
    FOR VALUES IN ('success') PARTITION BY RANGE (written_at)`,
  `CREATE TABLE evroute_requests_failure PARTITION OF evroute_requests
    FOR VALUES IN ('retry', 'final') PARTITION BY RANGE (written_at)`,

  `CREATE TABLE evroute_seen (
    source_id ${text}, message_id ${text}, seen_at ${number}, PRIMARY KEY (source_id, message_id)
  ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)`,
  'CREATE INDEX evroute_seen_by_time ON evroute_seen (seen_at)',

  `CREATE TABLE evroute_counts (
    destination_id ${text}, slot integer NOT NULL, ${firstCounts.join(', ')},
    PRIMARY KEY (destination_id, slot)
  ) WITH (fillfactor = 20, ${busy})`,

  'CREATE SEQUENCE evroute_holders',

  `CREATE TABLE evroute_moves (
    store_id text COLLATE "C" PRIMARY KEY, changes ${number},
    kind text COLLATE "C", position text COLLATE "C", completed_at bigint
  )`,

  `CREATE TABLE evroute_suppressions (user_id ${text}, source_id ${text})`,
  'CREATE INDEX evroute_suppressions_of_user ON evroute_suppressions USING hash (user_id)',
  'CREATE TABLE evroute_gate ()',

  `CREATE TABLE evroute_regulations (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id ${text} UNIQUE,
    type ${text}, source_ids text, created_at ${number}, finished_at bigint,
    last_id ${number}, last_notification_id ${number},
    stage ${text} CHECK (stage IN ('deliveries', 'left', 'seen', 'members', 'traces',
      'notifications', 'last traces', 'done')),
    at_key ${text}, at_id ${number}, is_store_erased boolean NOT NULL,
    erased_pending ${number}, erased_settled ${number}, erased_members ${number},
    archive text, streams text NOT NULL
  ) WITH (fillfactor = 50)`,
  `CREATE INDEX evroute_regulations_unfinished ON evroute_regulations (number)
    WHERE finished_at IS NULL`,

  `CREATE TABLE evroute_regulation_users (
    number ${number}, place integer NOT NULL, user_id text NOT NULL, PRIMARY KEY (number, place)
  )`,

  `CREATE TABLE evroute_regulation_left (
    number ${number}, destination_id ${text}, delivery_id ${number},
    PRIMARY KEY (number, destination_id, delivery_id)
  )`,

  `CREATE TABLE evroute_audiences (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key ${text} UNIQUE,
    name text NOT NULL, class ${text} CHECK (class IN ('audience', 'trait')),
    computation_id text NOT NULL, source_id ${text},
    members ${number}, numbers ${number}, created_at ${number}, synced_at bigint, sync bigint
  ) WITH (fillfactor = 50)`,
  `CREATE TABLE evroute_members (
    audience_id ${number}, user_key bytea NOT NULL, member_key bytea NOT NULL, number ${number},
    user_id text, anonymous_id text, email text, value text NOT NULL,
    PRIMARY KEY (audience_id, user_key, member_key)
  ) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0)`,
  'CREATE SEQUENCE evroute_syncs',

  `CREATE TABLE evroute_processes (
    destination_id ${text}, process_id ${text}, joined_at ${number}, beaten_at ${number},
    PRIMARY KEY (destination_id, process_id)
  ) WITH (fillfactor = 50, ${busy})`,

  `CREATE TABLE evroute_archives (id text COLLATE "C" PRIMARY KEY, name text NOT NULL)`,
  `CREATE TABLE evroute_regulation_archives (
    number ${number}, archive_id ${text}, PRIMARY KEY (number, archive_id)
  )`,
]

/** The schema version of {@link firstTables}. */
export const firstVersion = 5

/** A digest, because a userId may be too long for an ordered index. */
const userDigest = 'hashtextextended(user_id, 0)'

/** Returns the condition that finds a user's deliveries in the index. */
export function isOfUser(userId: string): Sql {
  const id = sql`${userId}::text`
  return sql`${raw(userDigest)} = hashtextextended(${id}, 0) AND user_id = ${id}`
}

/** How far the sending process's clock may lag behind the clock of the process that accepted the event. */
const clocksMs = 24 * 60 * 60 * 1_000

/**
 * Schema changes of later versions. They only add, so that processes of the first version keep working and can be
 * restarted. Remove something one release after the code stops using it.
 *
 * - A trigger deletes requests together with their delivery, because an erasure finds requests through deliveries.
 *   Processes of the first version delete only the delivery. A new partition has no statistics; the trigger's settings
 *   keep the planner from reading the whole partition
 * - `live_processes`: one row per process, so that a heartbeat writes as much for a thousand destinations as for
 *   one. Times are by the server's clock. `destinations` has, for each destination, when the process joined and
 *   when it left, or null. `version` is the time when `destinations` was written
 * - The `try_…` columns of a delivery hold its request if the first try succeeded, as most do; otherwise `try_at`
 *   is null
 */
export const additions: readonly string[] = [
  `CREATE OR REPLACE FUNCTION evroute_forget_requests() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_hashjoin = off SET enable_mergejoin = off AS $$ BEGIN
      DELETE FROM evroute_requests request USING gone
      WHERE request.destination_id = gone.destination_id AND request.delivery_id = gone.id
        AND request.written_at >= gone.accepted_at - ${clocksMs};
      RETURN NULL;
    END $$`,
  'DROP TRIGGER IF EXISTS evroute_forget_requests ON evroute_deliveries',
  `CREATE TRIGGER evroute_forget_requests AFTER DELETE ON evroute_deliveries
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION evroute_forget_requests()`,

  `CREATE TABLE IF NOT EXISTS evroute_live_processes (
    process_id text COLLATE "C" PRIMARY KEY, beaten_at ${number}, version ${number},
    destinations jsonb NOT NULL
  ) WITH (fillfactor = 50, ${busy})`,

  `ALTER TABLE evroute_deliveries ADD COLUMN IF NOT EXISTS try_url text,
    ADD COLUMN IF NOT EXISTS try_at bigint, ADD COLUMN IF NOT EXISTS try_duration double precision,
    ADD COLUMN IF NOT EXISTS try_status integer, ADD COLUMN IF NOT EXISTS try_excerpt text,
    ADD COLUMN IF NOT EXISTS traceparent text`,
]

/** The schema version of this program, with all {@link additions} and {@link addedIndexes}. */
export const latestVersion = 11

/**
 * Indexes that are built while processes use the store: their names, and the text after `CREATE INDEX name`.
 *
 * - `expiring` finds deliveries whose retry window is over, for a purge. It has no untried deliveries, so an add does
 *   not write to it
 * - `of_message` finds deliveries by messageId. A messageId has few deliveries, so the index is a hash: it costs an
 *   add no measurable time, and an ordered index is larger
 * - `of_user` finds deliveries by user. A user may have many deliveries, so the index orders them by id
 *
 * An add writes to both `of_message` and `of_user`, and so does a settlement. With 300,000 rows, batches of 100 and
 * both indexes, an add takes 13 % longer and a settlement 24 %. An event writes 2,710 bytes of WAL instead of 2,010.
 */
export const addedIndexes: readonly { readonly name: string; readonly on: string }[] = [
  {
    name: 'evroute_deliveries_expiring',
    on: `ON evroute_deliveries (expires_at) WHERE state = 'pending' AND expires_at IS NOT NULL`,
  },
  {
    name: 'evroute_deliveries_of_message',
    on: 'ON evroute_deliveries USING hash (message_id)',
  },
  {
    name: 'evroute_deliveries_of_user',
    on: `ON evroute_deliveries (${userDigest}, id) WHERE user_id IS NOT NULL`,
  },
]

/** Deletes requests that the first version left behind when it deleted their deliveries. Commits after each day. */
export const deleteLeftRequests = `
  DO $$ DECLARE day regclass; BEGIN
    FOR day IN SELECT inhrelid::regclass FROM pg_inherits
      WHERE inhparent IN ('evroute_requests_success'::regclass, 'evroute_requests_failure'::regclass)
    LOOP
      EXECUTE format('DELETE FROM %s request WHERE NOT EXISTS (SELECT FROM evroute_deliveries delivery
        WHERE delivery.destination_id = request.destination_id AND delivery.id = request.delivery_id)',
        day);
      COMMIT;
    END LOOP;
  END $$`
