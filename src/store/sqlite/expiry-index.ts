/**
 * The step that lets a purge find the deliveries whose retry window is over. Those that were never tried
 * are not in the index, so that adding a delivery does not write to it.
 */
export const expiryIndex: string = `
  CREATE INDEX deliveries_expiring ON deliveries (expires_at)
    WHERE state = 'pending' AND expires_at IS NOT NULL;
`
