/**
 * The step after which a delivery keeps the request of a first try that succeeded in its own row: most
 * deliveries need no other. `try_at` is null where there is none.
 */
export const firstTryColumns: string = `
  ALTER TABLE deliveries ADD COLUMN try_url TEXT;
  ALTER TABLE deliveries ADD COLUMN try_at INTEGER;
  ALTER TABLE deliveries ADD COLUMN try_duration REAL;
  ALTER TABLE deliveries ADD COLUMN try_status INTEGER;
  ALTER TABLE deliveries ADD COLUMN try_excerpt TEXT;
`
