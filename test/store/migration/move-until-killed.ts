// Moves a store in small pages, and is killed while a page is under way.
import { moveStore } from '../../../src/store/migration/move-store.ts'

const [path = '', url = '', pages = ''] = process.argv.slice(2)
let left = Number(pages)
await moveStore({
  path,
  url,
  rowsAtOnce: 2,
  signal: new AbortController().signal,
  newId: () => 'store of a process that is killed',
  nowMs: () => 0,
  // The next page is on its way by then.
  progress: () => {
    if (--left === 0) setImmediate(() => process.kill(process.pid, 'SIGKILL'))
  },
})
