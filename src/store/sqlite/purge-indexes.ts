/**
 * The step that lets a purge find what is old with one search, however many destinations there are:
 * what failed or expired, and what waits for its first attempt.
 */
export const purgeIndexes: string = `
  CREATE INDEX deliveries_ended ON deliveries (settled_at)
    WHERE state = 'failed' OR state = 'expired';

  CREATE INDEX deliveries_untried ON deliveries (due_at)
    WHERE state = 'pending' AND expires_at IS NULL;
`
