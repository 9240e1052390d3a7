import type { Step } from './step.ts'

/**
 * The clock of a process that writes a request may be behind the clock of the process that took the
 * event.
 */
const clocksMs = 24 * 60 * 60 * 1_000

/**
 * The step after which requests are deleted with their delivery, whichever version of evroute deletes
 * it, because an erasure finds requests through deliveries. The step also keeps the planner from
 * reading whole partitions while it has no statistics of a new one.
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
    // The requests that earlier versions left behind, a day at a time.
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
