import type { Step } from './step.ts'

/**
 * The step after which a delivery keeps the request of a first try that succeeded in its own row: most
 * deliveries need no other. `try_at` is null where there is none. Versions before it do not show that request.
 */
export const firstTryColumns: Step = {
  kind: 'expand',
  changes: [
    `ALTER TABLE evroute_deliveries ADD COLUMN try_url text, ADD COLUMN try_at bigint,
      ADD COLUMN try_duration double precision, ADD COLUMN try_status integer, ADD COLUMN try_excerpt text`,
  ],
}
