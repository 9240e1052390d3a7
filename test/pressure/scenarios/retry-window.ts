import { join } from 'node:path'
import { defaultRetention, Retention } from '../../../src/delivery/index.ts'
import { ManualClock, stopwatch } from '../../../src/runtime/index.ts'
import { openStore, type Store } from '../../../src/store/index.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { claimAll, eventTo } from '../../delivery/dispatching.ts'
import { recordingRuntime, startMs } from '../../support/recording-runtime.ts'
import { longOutage } from '../long-outage.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const processes = ['keeps running', 'restarts', 'stops'] as const
const destinations = 1_000
const deliveriesEach = 100

/** An endpoint that is down for 12 hours, and 100,000 deliveries whose windows end at once. */
export const scenario: PressureScenario = {
  title: 'an endpoint is down for 12 hours; 100,000 retry windows end at once',
  run: async () => {
    const findings: PressureFinding[] = []
    for (const process of processes) {
      await using folder = await scratchFolder()
      const outage = await longOutage({ deliveries: 400, process, folder: folder.path })
      const { latestRoundMs, windowMs, deliveredTried, ledger } = outage
      findings.push({
        must: `if the process ${process}, no attempt is later than 4 h after the first`,
        measured: `${(latestRoundMs / 3_600_000).toFixed(1)} h, ${deliveredTried} of 400 delivered late`,
        holds: latestRoundMs <= windowMs && deliveredTried === 0 && ledger.pending === 0,
      })
    }
    return [...findings, await expireAtOnce()]
  },
}

/** Expires the retry windows of many deliveries to many destinations at once. */
async function expireAtOnce(): Promise<PressureFinding> {
  await using folder = await scratchFolder()
  const store = await openStore(`sqlite:${join(folder.path, 'many.db')}`)
  await fill(store)
  const { runtime, gaveUp } = recordingRuntime(new ManualClock(startMs + 5 * 60 * 60 * 1_000))
  const elapsedMs = stopwatch()
  const retention = new Retention({ store, runtime, policy: defaultRetention })
  let longestAddMs = 0
  retention.start()
  const isOver = (): boolean => gaveUp.reduce((sum, each) => sum + each.deliveries, 0) >= total
  for (let added = 0; !isOver(); added++) {
    const addMs = stopwatch()
    const events = [eventTo('live', `live_${added}`)]
    await store.add({ nowMs: startMs, seenSinceMs: 0, events, handOver: [] })
    longestAddMs = Math.max(longestAddMs, addMs())
  }
  const rate = total / (elapsedMs() / 1_000)
  await retention.stop()
  await store.close()
  return {
    must: 'at least 2,000 deliveries expire per second, and no add takes a second meanwhile',
    measured: `${rate.toFixed(0)}/s, the slowest add ${longestAddMs.toFixed(0)} ms`,
    holds: rate >= 2_000 && longestAddMs < 1_000,
  }
}

const total = destinations * deliveriesEach

async function fill(store: Store): Promise<void> {
  const expiresAtMs = startMs + 4 * 60 * 60 * 1_000
  for (let index = 0; index < destinations; index++) {
    const destinationId = `d_${index}`
    const events = Array.from({ length: deliveriesEach }, (_, number) =>
      eventTo(destinationId, `m_${index}_${number}`),
    )
    await store.add({ nowMs: startMs, seenSinceMs: 0, events, handOver: [] })
    const leased = await claimAll(store, { destinationId, lane: 'first', dueByMs: startMs })
    const settlements = leased.map((delivery) => ({
      kind: 'retry' as const,
      delivery,
      dueAtMs: startMs + 10_000,
      expiresAtMs,
      reason: 'status_503',
      progress: { attempts: 1, windowAttempts: 1, firstAttemptAtMs: startMs, holds: [] },
    }))
    await store.settle({ nowMs: startMs, settlements, requests: [] })
  }
}
