// Measures what is claimed: `npm run bench -- <name>`, or all of them without a name. `postgres` stands
// for all whose names begin with it.
import { benchAudience } from './audience.ts'
import { benchBacklog } from './backlog.ts'
import { benchIsolation } from './isolation.ts'
import { benchParked } from './postgres/parked.ts'
import { benchPeer } from './postgres/peer.ts'
import { benchProcesses } from './postgres/processes.ts'
import { benchQueue } from './postgres/queue.ts'
import { benchReceiver } from './receiver-throughput.ts'

const benches: Readonly<Record<string, () => Promise<string>>> = {
  isolation: benchIsolation,
  backlog: benchBacklog,
  receiver: benchReceiver,
  audience: benchAudience,
  'postgres-processes': benchProcesses,
  'postgres-queue': benchQueue,
  'postgres-parked': benchParked,
  'postgres-peer': benchPeer,
}

const [name] = process.argv.slice(2)
const chosen = Object.entries(benches).filter(
  ([each]) => name === undefined || each === name || each.startsWith(`${name}-`),
)
if (chosen.length === 0) throw new Error(`There is no benchmark ${name ?? ''}`)
for (const [, bench] of chosen) process.stdout.write(`${await bench()}\n`)
