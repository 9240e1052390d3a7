// Reads a store as the user `nobody`, and again at every SIGTERM until that fails. Prints one line each time.
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteLog } from '../../../src/store/sqlite/sqlite-log.ts'

const path = process.argv[2] ?? ''
// Load the driver now, because `nobody` may not be able to read the project.
const loaded = await openDatabase(process.execPath, 'read')
loaded.close()
if (process.getuid?.() === 0) process.setuid?.(65_534)
let log: SqliteLog | undefined
// Without a timer, the process would end instead of waiting for a signal.
const waiting = setInterval(() => undefined, 60_000)
process.on('SIGTERM', () => void read())
await read()

async function read(): Promise<void> {
  try {
    log ??= await SqliteLog.open(path, { write: false })
    const { ledger } = await log.audit()
    const listed = await log.list({ filter: {}, limit: 10 })
    print({ pending: ledger.pending, messageIds: listed.map(({ messageId }) => messageId) })
  } catch (error) {
    const { code, message, hint } = error as Error & { code: string; hint: string }
    print({ code, message, hint })
    clearInterval(waiting)
  }
}

function print(answer: unknown): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
