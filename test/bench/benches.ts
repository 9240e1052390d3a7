import type { DayPlan } from './day/plan.ts'
import type { BenchReport } from './report.ts'

/** Installs the packages that the benchmark compares with before it runs. */
function withPeers(bench: () => Promise<BenchReport>): () => Promise<BenchReport> {
  return async () => {
    await import('./install-packages.ts')
    return await bench()
  }
}

/**
 * Every benchmark by its name on the command line. Each is imported only when it runs, so that it doesn't
 * load what only others need.
 */
export const benches: Readonly<Record<string, (plan: DayPlan) => Promise<BenchReport>>> = {
  start: async () => (await import('./start/start.ts')).benchStart(),
  client: withPeers(async () => (await import('./client/client.ts')).benchClient()),
  'client-overhead': async () => (await import('./client/overhead.ts')).benchClientOverhead(),
  ingest: async () => (await import('./ingest/ingest.ts')).benchIngest(),
  replay: async () => (await import('./replay/replay.ts')).benchReplay(),
  'replay-delivered': async () => (await import('./replay/delivered.ts')).benchReplayDelivered(),
  delivery: withPeers(async () => (await import('./delivery/delivery.ts')).benchDelivery()),
  cores: async () => (await import('./cores/cores.ts')).benchCores(),
  isolation: async () => (await import('./isolation.ts')).benchIsolation(),
  backlog: async () => (await import('./backlog.ts')).benchBacklog(),
  growth: async () => (await import('./growth/growth.ts')).benchGrowth(),
  receiver: async () => (await import('./receiver/receiver.ts')).benchReceiver(),
  page: async () => (await import('./page/page.ts')).benchPage(),
  audience: async () => (await import('./audience/audience.ts')).benchAudience(),
  day: async (plan) => (await import('./day/day.ts')).benchDay(plan),
  'postgres-processes': async () => (await import('./postgres/processes.ts')).benchProcesses(),
  'postgres-queue': async () => (await import('./postgres/queue.ts')).benchQueue(),
  'postgres-parked': async () => (await import('./postgres/parked.ts')).benchParked(),
  'postgres-peer': withPeers(async () => (await import('./postgres/peer.ts')).benchPeer()),
}
