/**
 * The step that makes the tables of regulations.
 *
 * - `suppressions`: the users whose calls are dropped, and the source; '' stands for all sources. A
 *   userId may be longer than a key of an ordered index
 * - `gate`: has no rows. Transactions that add events share its lock; one that stores a regulation
 *   holds it alone
 * - `regulations`: each with the progress of its erasure. A regulation is about deliveries up to
 *   `last_id`; its notifications have as many ids up to `last_notification_id` as `streams` says.
 *   `stage` is the next stage, `at_key` and `at_id` the last place in it. `streams` has the state of
 *   its notifications when it was made, or when it was finished
 * - `regulation_users`: its users; `place` keeps their order
 * - `regulation_left`: deliveries that were leased when the erasure came to them
 */
export const regulationTables: readonly string[] = [
  'ALTER TABLE evroute_deliveries ADD COLUMN previous_id text COLLATE "C"',
  'ALTER TABLE evroute_deliveries ADD COLUMN is_erased boolean NOT NULL DEFAULT false',

  `CREATE TABLE evroute_suppressions (
    user_id text COLLATE "C" NOT NULL,
    source_id text COLLATE "C" NOT NULL
  )`,
  'CREATE INDEX evroute_suppressions_of_user ON evroute_suppressions USING hash (user_id)',
  'CREATE TABLE evroute_gate ()',

  `CREATE TABLE evroute_regulations (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    type text COLLATE "C" NOT NULL,
    source_ids text,
    created_at bigint NOT NULL,
    finished_at bigint,
    last_id bigint NOT NULL,
    last_notification_id bigint NOT NULL,
    stage text COLLATE "C" NOT NULL CHECK (stage IN ('deliveries', 'left', 'seen', 'members', 'traces',
      'notifications', 'last traces', 'done')),
    at_key text COLLATE "C" NOT NULL,
    at_id bigint NOT NULL,
    is_store_erased boolean NOT NULL,
    erased_pending bigint NOT NULL,
    erased_settled bigint NOT NULL,
    erased_members bigint NOT NULL,
    archive text,
    streams text NOT NULL
  ) WITH (fillfactor = 50)`,
  `CREATE INDEX evroute_regulations_unfinished ON evroute_regulations (number)
    WHERE finished_at IS NULL`,

  `CREATE TABLE evroute_regulation_users (
    number bigint NOT NULL,
    place integer NOT NULL,
    user_id text NOT NULL,
    PRIMARY KEY (number, place)
  )`,

  `CREATE TABLE evroute_regulation_left (
    number bigint NOT NULL,
    destination_id text COLLATE "C" NOT NULL,
    delivery_id bigint NOT NULL,
    PRIMARY KEY (number, destination_id, delivery_id)
  )`,
]

/**
 * The step that makes the tables of archives, which are on the disks of processes.
 *
 * - `archives`: the archives, by name
 * - `regulation_archives`: the archives that a regulation waits for
 */
export const archiveTables: readonly string[] = [
  `CREATE TABLE evroute_archives (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL
  )`,
  `CREATE TABLE evroute_regulation_archives (
    number bigint NOT NULL,
    archive_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (number, archive_id)
  )`,
]
