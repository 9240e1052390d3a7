// Measures what is claimed: `npm run bench -- <name>`, or all of them without a name.
import { benchAudience } from './audience.ts'
import { benchBacklog } from './backlog.ts'
import { benchIsolation } from './isolation.ts'
import { benchReceiver } from './receiver-throughput.ts'

const benches: Readonly<Record<string, () => Promise<string>>> = {
  isolation: benchIsolation,
  backlog: benchBacklog,
  receiver: benchReceiver,
  audience: benchAudience,
}

const [name] = process.argv.slice(2)
const chosen = name === undefined ? Object.values(benches) : [benches[name]]
for (const bench of chosen) {
  if (bench === undefined) throw new Error(`There is no benchmark ${name ?? ''}`)
  process.stdout.write(`${await bench()}\n`)
}
