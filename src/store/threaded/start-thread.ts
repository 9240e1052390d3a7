import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { StoreUnusableError } from '../../model/index.ts'
import type { ThreadAnswer, ThreadRequest, ThreadSettings } from './thread-messages.ts'

/** The part of a Worker that its callers use. */
export interface StoreThread {
  /** Sends calls, which the thread runs one after the other. */
  postMessage(requests: readonly ThreadRequest[]): void
  /** Keeps the process alive. */
  ref(): void
  /** Lets the process exit while the thread is running. */
  unref(): void
  /** Calls back with the answers of the thread. */
  on(event: 'message', listener: (answers: readonly ThreadAnswer[]) => void): unknown
  /** Calls back when the thread has failed. */
  on(event: 'error', listener: (error: unknown) => void): unknown
  /** Calls back when the thread has ended. */
  on(event: 'exit', listener: (code: number) => void): unknown
}

/** Starts a thread that opens a file and answers calls. */
export type StartThread = (settings: ThreadSettings) => StoreThread

/**
 * Starts the program of a store's thread, from the sources or from the build.
 *
 * @throws StoreUnusableError if a bundler left that file out
 */
export function startThread(settings: ThreadSettings): Worker {
  const program = new URL(`store-thread${extname(import.meta.url)}`, import.meta.url)
  if (!existsSync(program)) {
    throw new StoreUnusableError({
      message: `Cannot start the thread of the store: ${fileURLToPath(program)} is missing, as it is if evroute is bundled`,
      hint: 'Keep evroute out of the bundle, for example with `esbuild --external:evroute`.',
    })
  }
  const start = { workerData: settings, transferList: [settings.events] }
  return new Worker(program, { ...start, ...optionsOfFiles(process.execArgv) })
}

/** Returns this process's Node options, without those that Node does not allow for a program in a file. */
function optionsOfFiles(options: readonly string[]): { execArgv?: string[] } {
  if (!options.some((option) => option.startsWith('--input-type'))) return {}
  return {
    execArgv: options.filter(
      (option, place) =>
        !option.startsWith('--input-type') && options[place - 1] !== '--input-type',
    ),
  }
}
