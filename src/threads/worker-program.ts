import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { Worker } from 'node:worker_threads'

/**
 * Returns the program of a thread: the file `name` beside the calling module, with the same extension. `isThere` is
 * false if a bundler left the file out, because nothing imports it.
 *
 * @param caller - the `import.meta.url` of the calling module
 */
export function workerProgram(
  name: string,
  // A CommonJS bundle has no `import.meta.url`.
  caller: string = pathToFileURL('/').href,
): { url: URL; isThere: boolean } {
  const [extension = ''] = /\.\w+$/.exec(caller) ?? []
  const url = new URL(`${name}${extension}`, caller)
  return { url, isThere: existsSync(url) }
}

/** Starts a thread with this process's Node options, except `--input-type`, which Node refuses for a file. */
export function startWorker(program: URL): Worker {
  // Load this only here, because an import would take 1.5 ms in commands that start no thread.
  const threads = process.getBuiltinModule('node:worker_threads')
  return new threads.Worker(program, optionsOfFiles(process.execArgv))
}

function optionsOfFiles(options: readonly string[]): { execArgv?: string[] } {
  const isOfProgram = (option: string, index: number): boolean =>
    option.startsWith('--input-type') || options[index - 1] === '--input-type'
  if (!options.some(isOfProgram)) return {}
  return { execArgv: options.filter((option, index) => !isOfProgram(option, index)) }
}
