import type { Step } from './step.ts'

/** A request may be written by a process whose clock is behind that of the process that took the event. */
const clocksMs = 24 * 60 * 60 * 1_000

/**
 * The step after which requests go with their delivery, whichever version of evroute deletes it: what is
 * erased later is found through deliveries. The planner is kept from reading whole partitions, of which
 * it knows nothing when they are new.
 */
export const requestsOfDeliveries: Step = {
  kind: 'expand',
  changes: [
    `CREATE FUNCTION evroute_forget_requests() RETURNS trigger LANGUAGE plpgsql
      SET search_path FROM CURRENT SET enable_hashjoin = off SET enable_mergejoin = off AS $$ BEGIN
        DELETE FROM evroute_requests request USING gone
        WHERE request.destination_id = gone.destination_id AND request.delivery_id = gone.id
          AND request.written_at >= gone.accepted_at - ${clocksMs};
        RETURN NULL;
      END $$`,
    `CREATE TRIGGER evroute_forget_requests AFTER DELETE ON evroute_deliveries
      REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION evroute_forget_requests()`,
  ],
  online: {
    indexes: [],
    // What earlier versions left behind, a day at a time.
    statements: [
      `DO $$ DECLARE day regclass; BEGIN
        FOR day IN SELECT inhrelid::regclass FROM pg_inherits
          WHERE inhparent IN ('evroute_requests_success'::regclass, 'evroute_requests_failure'::regclass)
        LOOP
          EXECUTE format('DELETE FROM %s request WHERE NOT EXISTS (SELECT FROM evroute_deliveries delivery
            WHERE delivery.destination_id = request.destination_id AND delivery.id = request.delivery_id)',
            day);
          COMMIT;
        END LOOP;
      END $$`,
    ],
  },
}
