// Opens a store as the user `nobody`, and prints the error.
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'

// Load the driver now, because `nobody` may not be able to read the project.
const loaded = await openDatabase(process.execPath, 'read')
loaded.close()
if (process.getuid?.() === 0) process.setuid?.(65_534)
try {
  await SqliteStore.open(process.argv[2] ?? '')
} catch (error) {
  const { code, message, hint } = error as Error & { code: string; hint: string }
  process.stdout.write(JSON.stringify({ code, message, hint }))
}
