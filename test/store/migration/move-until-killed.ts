// Moves a store in small pages, and kills itself while a page is being moved.
import { moveStore } from '../../../src/store/migration/move-store.ts'

const [path = '', url = '', pages = ''] = process.argv.slice(2)
let remaining = Number(pages)
await moveStore({
  path,
  url,
  rowsAtOnce: 2,
  signal: new AbortController().signal,
  newId: () => 'store of a process that is killed',
  nowMs: () => 0,
  // By then the next page is being moved.
  progress: () => {
    if (--remaining === 0) setImmediate(() => process.kill(process.pid, 'SIGKILL'))
  },
})
