import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'

const hooks = new URL('typescript-hooks.js', import.meta.url)
const registerHooks = `data:text/javascript,import{register}from'node:module';register('${hooks.href}')`

/**
 * Runs a TypeScript file in a new Node process, for tests that need their own environment variables or
 * heap.
 *
 * @returns its stdout
 */
export async function runSource(
  file: URL,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', registerHooks, fileURLToPath(file), ...args],
    { env: { ...process.env, ...environment } },
  )
  return stdout
}

/** Starts a TypeScript file in a new Node process, which is killed when the test ends. */
export function startSource(file: URL, args: readonly string[]): ChildProcess {
  const argv = ['--import', registerHooks, fileURLToPath(file), ...args]
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child
}
