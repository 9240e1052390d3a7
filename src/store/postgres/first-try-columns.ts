import type { Step } from './step.ts'

/**
 * The step after which the row of a delivery keeps the request of a first try that succeeded, which
 * most deliveries have. `try_at` is null if there is none. Earlier versions do not show that request.
 */
export const firstTryColumns: Step = {
  kind: 'expand',
  changes: [
    `ALTER TABLE evroute_deliveries ADD COLUMN try_url text, ADD COLUMN try_at bigint,
      ADD COLUMN try_duration double precision, ADD COLUMN try_status integer, ADD COLUMN try_excerpt text`,
  ],
}
