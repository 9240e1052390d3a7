// Looks into the store that it is given as a user who owns nothing, and again at every SIGTERM until
// that fails; writes what it finds, a line each.
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteLog } from '../../../src/store/sqlite/sqlite-log.ts'

const path = process.argv[2] ?? ''
// Loaded now: such a user may not be able to read the project either.
const loaded = await openDatabase(process.execPath, 'read')
loaded.close()
if (process.getuid?.() === 0) process.setuid?.(65_534)
let log: SqliteLog | undefined
// A process that waits for nothing but a signal would end.
const waiting = setInterval(() => undefined, 60_000)
process.on('SIGTERM', () => void look())
await look()

async function look(): Promise<void> {
  try {
    log ??= await SqliteLog.open(path, { write: false })
    const { ledger } = await log.audit()
    const listed = await log.list({ filter: {}, limit: 10 })
    tell({ pending: ledger.pending, messageIds: listed.map(({ messageId }) => messageId) })
  } catch (error) {
    const { code, message, hint } = error as Error & { code: string; hint: string }
    tell({ code, message, hint })
    clearInterval(waiting)
  }
}

function tell(answer: unknown): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
