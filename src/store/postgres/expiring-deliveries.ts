import type { Step } from './step.ts'

/**
 * The step for the index in which a purge finds deliveries whose retry window is over. Deliveries that
 * were never tried are not in it, so an add does not write to it.
 */
export const expiringDeliveries: Step = {
  kind: 'expand',
  changes: [],
  online: {
    indexes: [
      {
        name: 'evroute_deliveries_expiring',
        on: `ON evroute_deliveries (expires_at) WHERE state = 'pending' AND expires_at IS NOT NULL`,
      },
    ],
    statements: [],
  },
}
