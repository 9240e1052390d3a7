import type { EventEmitter } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { StoreUnusableError } from '../../model/index.ts'
import { startWorker, workerProgram } from '../../runtime/index.ts'
import type { ThreadRequest, ThreadSettings } from './thread-messages.ts'

/**
 * The part of a Worker that its callers use. Its events are `message` with several `ThreadAnswer`, `error`
 * with the error that ended the thread, and `exit` with the exit code.
 */
export interface StoreThread extends Pick<EventEmitter, 'on'>, Pick<Worker, 'ref' | 'unref'> {
  /** Sends calls, which the thread starts in this order. */
  postMessage(requests: readonly ThreadRequest[]): void
}

/** Starts a thread that opens a file and answers calls. */
export type StartThread = (settings: ThreadSettings) => StoreThread

/**
 * Starts the program of a store's thread, from the sources or from the build.
 *
 * @throws StoreUnusableError if a bundler left that file out
 */
export function startThread(settings: ThreadSettings): Worker {
  const program = workerProgram('store-thread', import.meta.url)
  if (!existsSync(program)) {
    throw new StoreUnusableError({
      message: `Cannot start the thread of the store: ${fileURLToPath(program)} is missing, as it is if evroute is bundled`,
      hint: 'Keep evroute out of the bundle, for example with `esbuild --external:evroute`.',
    })
  }
  return startWorker(program, { workerData: settings })
}
