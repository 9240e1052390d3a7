import { describe, expect, onTestFinished, test } from 'vitest'
import { PostgresServer } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { runSharedKills } from './kill-run.ts'
import { runOutages } from './outage-run.ts'
import { sharedFiguresOf, sharedFindingsOf } from './shared-findings.ts'

const seed = 20_260_102
/** Longer than the limit of a run without progress, so that the run reports its own error first. */
const timeoutMs = 120_000
const stallMs = 30_000
const caps = { crm: 10, mail: 6, warehouse: 4 }
const sources = [{ id: 'website', destinationIds: Object.keys(caps), batchEvery: 1 }]

describe('services that share a PostgreSQL', { timeout: timeoutMs }, () => {
  test('lose nothing when two of three are killed, and never exceed the concurrency of a destination', async () => {
    const server = await PostgresServer.start()
    onTestFinished(() => server.end())
    const result = await runSharedKills({
      folder: await temporaryFolder(),
      store: server.url(),
      caps,
      sources,
      deliveries: 300,
      kills: [
        { slot: 0, event: 'answered', count: 20 },
        { slot: 1, event: 'requested', count: 15 },
        { slot: 0, event: 'acknowledged', count: 10 },
      ],
      outstandingMax: 400,
      isHurried: true,
      answerMs: { least: 20, greatest: 100 },
      seed,
      stallMs,
    })
    expect(sharedFindingsOf(result)).toEqual([])
    expect(sharedFiguresOf(result).deliveries).toBeGreaterThanOrEqual(300)
    expect(result.killed.size).toBe(3)
    // The two that were killed while they delivered, and the one that kept running.
    for (const process of [1, 2, 3]) expect(result.deliveredBy.get(process)).toBeGreaterThan(0)
  })

  test('recover by themselves after the server was down, tables were locked or connections ran out', async () => {
    const server = await PostgresServer.start(['fsync=off', 'max_connections=20'])
    onTestFinished(() => server.end())
    const result = await runOutages({
      folder: await temporaryFolder(),
      server,
      store: server.url(),
      caps,
      sources,
      deliveries: 300,
      outstandingMax: 400,
      processes: 1,
      outages: ['restarted', 'restarted', 'locked', 'exhausted'],
      isHurried: true,
      answerMs: { least: 5, greatest: 20 },
      seed,
      stallMs,
    })
    expect(sharedFindingsOf(result)).toEqual([])
    const [first, second, , exhausted] = result.recoveries
    for (const each of [first, second, exhausted]) expect(each?.refused).toBeGreaterThan(0)
  })
})
