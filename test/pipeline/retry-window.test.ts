import { describe, expect, test } from 'vitest'
import { longOutage } from '../pressure/long-outage.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('deliveries to an endpoint that is down for 12 hours', () => {
  test.each(['keeps running', 'restarts', 'stops'] as const)(
    'end after four hours if the process %s, and none is sent later',
    async (process) => {
      const outage = await longOutage({ deliveries: 60, process, folder: await temporaryFolder() })
      expect(outage.latestRoundMs).toBeLessThanOrEqual(outage.windowMs)
      expect(outage.ledger).toMatchObject({ deliveries: 60, pending: 0 })
      expect(outage.windowOver).toBeGreaterThan(0)
      // Deliveries that were never tried have no window yet, so they are sent once the endpoint is back.
      expect(outage.deliveredTried).toBe(0)
    },
  )
})
