// Kills services that share a PostgreSQL, and cuts them off from it, at full scale: `npm run
// test:crash:postgres`.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { table } from '../../bench/table.ts'
import { PostgresServer } from '../../support/postgres.ts'
import { seededRandom } from '../../../src/receiver/faults/seeded-random.ts'
import type { InstallationOptions } from './installation.ts'
import { runSharedKills, type SharedKill } from './kill-run.ts'
import { runOutages, type DatabaseOutage } from './outage-run.ts'
import { sharedFiguresOf, sharedFindingsOf, type SharedEvidence } from './shared-findings.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seed: { type: 'string' },
    kills: { type: 'string', default: '20' },
    restarts: { type: 'string', default: '10' },
    deliveries: { type: 'string', default: '20000' },
  },
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const folder = await mkdtemp(join(tmpdir(), 'evroute-crash-'))
const website = ['crm', 'mail', 'warehouse']
/** One destination has a lower concurrency than there are processes. */
const caps = { crm: 10, mail: 6, warehouse: 4, legacy: 2 }
/** PostgreSQL's defaults, except for the number of connections. */
const settings = ['max_connections=60']

const common: Omit<InstallationOptions, 'store'> = {
  folder,
  caps,
  sources: [
    { id: 'mobile', destinationIds: ['legacy'], batchEvery: 50 },
    { id: 'website', destinationIds: website, batchEvery: 1 },
  ],
  deliveries: Number(values.deliveries),
  outstandingMax: 1_500,
  answerMs: { least: 0, greatest: 200 },
  seed,
  // Longer than a lease, which ends after a minute.
  stallMs: 90_000,
}

/** Alternates between the two processes, and kills each at a random moment. */
function randomKills(random: () => number): readonly SharedKill[] {
  const events = [
    'ready',
    'acknowledged',
    'requested',
    'requested',
    'answered',
    'answered',
  ] as const
  return Array.from({ length: Number(values.kills) }, (_, index) => {
    const event = events[Math.floor(random() * events.length)] ?? 'answered'
    const count = event === 'ready' ? 1 : 1 + Math.floor(random() * 100)
    return { slot: index % 2, event, count }
  })
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

function seconds(durationMs: number): string {
  return (durationMs / 1_000).toFixed(1)
}

function reportColumns(columns: readonly (readonly [string, string | number])[]): void {
  const names = columns.map(([name]) => name)
  print(`\n${table(names, [columns.map(([, figure]) => `${figure}`)])}`)
}

function conclude(evidence: SharedEvidence): void {
  const { messages, deliveries, duplicates } = sharedFiguresOf(evidence)
  const ends = [...evidence.inFlight].map(([id, { cap, most }]) => `${id} ${most}/${cap}`)
  print(`\n${messages} messages, ${deliveries} deliveries, ${duplicates} sent again`)
  const failed = [...evidence.failedRequests.values()].reduce((total, count) => total + count, 0)
  print(`${failed} requests failed`)
  print(`most in flight at once: ${ends.join(', ')}`)
  const findings = sharedFindingsOf(evidence)
  for (const finding of findings) print(`! ${finding}`)
  if (findings.length > 0) process.exitCode = 1
  else print('No acknowledged message was lost, and the ledger balances.')
}

async function kill(): Promise<void> {
  const server = await PostgresServer.start(settings)
  const kills = randomKills(seededRandom(seed + 1))
  const result = await runSharedKills({ ...common, store: server.url(), kills, isHurried: false })
  await server.end()
  const senders = [...result.deliveredBy.values()]
  reportColumns([
    ['kills', result.killed.size],
    ['processes that delivered', senders.filter((webhooks) => webhooks > 0).length],
    ['posts unanswered', result.unanswered],
    ['refused', result.refused],
    ['success logged twice', result.loggedTwice],
    ['idle after the last kill (s)', seconds(result.idleMs)],
    ['seconds', seconds(result.durationMs)],
  ])
  conclude(result)
}

async function cutOff(): Promise<void> {
  const server = await PostgresServer.start(settings)
  const restarts = Array.from({ length: Number(values.restarts) }, () => 'restarted' as const)
  const outages: readonly DatabaseOutage[] = [...restarts, 'locked', 'exhausted']
  const options = { server, store: server.url(), processes: 2, outages, isHurried: false }
  const result = await runOutages({ ...common, ...options })
  await server.end()
  const rows = result.recoveries.map(
    ({ outage, lastedMs, refused, acknowledgedMs, deliveredMs }) => [
      outage,
      seconds(lastedMs),
      `${refused}`,
      seconds(acknowledgedMs),
      seconds(deliveredMs),
    ],
  )
  const names = ['outage', 'lasted (s)', 'refused', 'first acknowledged (s)', 'first delivered (s)']
  print(`\n${table(names, rows)}`)
  reportColumns([
    ['posts unanswered', result.unanswered],
    ['seconds', seconds(result.durationMs)],
  ])
  conclude(result)
}

print(`seed ${seed}`)
if (values.only !== 'outages') await kill()
if (values.only !== 'kills') await cutOff()
await rm(folder, { recursive: true })
