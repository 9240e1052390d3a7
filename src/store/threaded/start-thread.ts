import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { StoreUnusableError } from '../../model/index.ts'
import type { ThreadAnswer, ThreadRequest, ThreadSettings } from './thread-messages.ts'

/** A thread as those see it who ask it: what a Worker is for them. */
export interface StoreThread {
  /** Tells it what to do, one thing after the other. */
  postMessage(requests: readonly ThreadRequest[]): void
  /** It keeps the process alive. */
  ref(): void
  /** It does not. */
  unref(): void
  /** Calls back with what it tells. */
  on(event: 'message', listener: (answers: readonly ThreadAnswer[]) => void): unknown
  /** Calls back when it has failed. */
  on(event: 'error', listener: (error: unknown) => void): unknown
  /** Calls back when it has ended. */
  on(event: 'exit', listener: (code: number) => void): unknown
}

/** Starts a thread that opens a file and answers calls. */
export type StartThread = (settings: ThreadSettings) => StoreThread

/**
 * Starts the program of a store's thread: of the sources, or of what is built from them.
 *
 * @throws StoreUnusableError if a bundler left that file behind
 */
export function startThread(settings: ThreadSettings): Worker {
  const program = new URL(`store-thread${extname(import.meta.url)}`, import.meta.url)
  if (!existsSync(program)) {
    throw new StoreUnusableError({
      message: `Cannot start the thread of the store: ${fileURLToPath(program)} is missing, as in a bundle`,
      hint: 'Keep evroute out of the bundle, for example with `esbuild --external:evroute`.',
    })
  }
  const start = { workerData: settings, transferList: [settings.events] }
  return new Worker(program, { ...start, ...optionsOfFiles(process.execArgv) })
}

/** The options that this process has, unless one is there that no program in a file may have. */
function optionsOfFiles(options: readonly string[]): { execArgv?: string[] } {
  if (!options.some((option) => option.startsWith('--input-type'))) return {}
  return {
    execArgv: options.filter(
      (option, place) =>
        !option.startsWith('--input-type') && options[place - 1] !== '--input-type',
    ),
  }
}
