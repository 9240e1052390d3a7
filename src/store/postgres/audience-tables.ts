/**
 * The step that makes the tables of audiences.
 *
 * - `audiences`: `members` counts who is in it, `numbers` how many numbers it has given out. `sync` is
 *   the sync that goes on, whichever process began it: another process that began one before finds its
 *   own number no more
 * - `members`: who is in an audience, or has a value of a computed trait, found by digests of whom and
 *   what it is: identifiers may be longer than a key. No two members that an audience ever had have the
 *   same `number`
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
