/**
 * The step that makes the tables of audiences.
 *
 * - `audiences`: `members` is the number of members, `numbers` the last number that was given to one.
 *   `sync` is the sync in progress, of any process: a process whose sync was replaced no longer finds
 *   its own number there
 * - `members`: the members of an audience, or the users with a value of a computed trait. Digests of
 *   the identifiers are the key, because identifiers may be longer than a key. No two members of an
 *   audience ever have the same `number`
 * - `syncs`: numbers the syncs
 */
export const audienceTables: readonly string[] = [
  `CREATE TABLE evroute_audiences (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text COLLATE "C" NOT NULL UNIQUE,
    name text NOT NULL,
    class text COLLATE "C" NOT NULL CHECK (class IN ('audience', 'trait')),
    computation_id text NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    members bigint NOT NULL,
    numbers bigint NOT NULL,
    created_at bigint NOT NULL,
    synced_at bigint,
    sync bigint
  ) WITH (fillfactor = 50)`,
  `CREATE TABLE evroute_members (
    audience_id bigint NOT NULL,
    user_key bytea NOT NULL,
    member_key bytea NOT NULL,
    number bigint NOT NULL,
    user_id text,
    anonymous_id text,
    email text,
    value text NOT NULL,
    PRIMARY KEY (audience_id, user_key, member_key)
  ) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0)`,
  'CREATE SEQUENCE evroute_syncs',
]
