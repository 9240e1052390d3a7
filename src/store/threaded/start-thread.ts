import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { StoreUnusableError } from '../../model/index.ts'
import { startWorker, workerProgram } from '../../threads/index.ts'

/** Starts a store's thread. Throws a StoreUnusableError if a bundler left out the thread's program. */
export function startThread(): Worker {
  const { url, isThere } = workerProgram('store-thread', import.meta.url)
  if (isThere) return startWorker(url)
  throw new StoreUnusableError({
    message: `Cannot start the thread of the store: ${fileURLToPath(url)} is missing, probably because evroute was bundled`,
    hint: 'Keep evroute out of the bundle, for example with `esbuild --external:evroute`.',
  })
}
