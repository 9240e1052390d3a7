import { scratchFolder } from '../../support/scratch-folder.ts'
import { PostgresServer } from '../../support/postgres.ts'
import type { PressureScenario } from '../scenario.ts'
import { silentDatabase } from '../silent-database.ts'

const seconds = 15

/** A database that hangs: its connections stay open, but it sends nothing. */
export const scenario: PressureScenario = {
  title: `the database is silent for ${seconds} s while 100 requests arrive per second`,
  run: async () => {
    await using folder = await scratchFolder()
    const server = await PostgresServer.start()
    try {
      const silent = await silentDatabase({ seconds, server, folder: folder.path })
      const { statuses, slowestMs, statusAfter, connections } = silent
      return [
        {
          must: 'every request is answered 503 with Retry-After',
          measured: JSON.stringify(statuses),
          holds: Object.keys(statuses).join() === '503+',
        },
        {
          must: 'each is answered within 6 s',
          measured: `the slowest after ${(slowestMs / 1_000).toFixed(1)} s`,
          holds: slowestMs < 6_000,
        },
        {
          must: 'once the database is back, the next one is answered 200, and at most 40 connections are open',
          measured: `${statusAfter}, ${connections} connections`,
          holds: statusAfter === 200 && connections <= 40,
        },
      ]
    } finally {
      await server.end()
    }
  },
}
