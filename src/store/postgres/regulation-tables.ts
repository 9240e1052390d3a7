/**
 * The step that makes the tables of regulations.
 *
 * - `suppressions`: whose calls are dropped, and from which source; '' stands for all of them. A userId
 *   may be longer than what an ordered index takes
 * - `gate`: has no rows; who writes events holds it together with all others who do, and who stores a
 *   regulation alone
 * - `regulations`: each with how far its erasure has come. It is about deliveries up to `last_id`; its
 *   notifications have as many ids up to `last_notification_id` as `streams` says. `stage` is what is next, and
 *   `at_key` and `at_id` tell what was the last that was looked at in it. `streams` is how its
 *   notifications stood when it was made, or once it is finished when it was
 * - `regulation_users`: whom it is about; `place` keeps their order
 * - `regulation_left`: deliveries that were given out when they were looked at
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
 * The step that makes the tables of archives, which are on disks of processes.
 *
 * - `archives`: those that there are, under the names that people know
 * - `regulation_archives`: those that a regulation waits for
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
