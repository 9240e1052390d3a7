import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { stopwatch } from '../../../dist/runtime/index.js'

/** The path of the `evroute` command. */
export const binaryPath: string = fileURLToPath(new URL('../../../bin/evroute.js', import.meta.url))

/**
 * Runs Node until it exits. Of this process's environment, it gets only PATH and HOME.
 *
 * @returns how long it took, in milliseconds
 * @throws Error unless it exits with 0
 */
export async function runNode(argv: readonly string[]): Promise<number> {
  const { PATH = '', HOME = '' } = process.env
  const elapsedMs = stopwatch()
  const child = spawn(process.execPath, argv, { env: { PATH, HOME }, stdio: 'ignore' })
  const [code] = (await once(child, 'exit')) as [number | null]
  const tookMs = elapsedMs()
  if (code !== 0) throw new Error(`node ${argv.join(' ')} ended with exit code ${String(code)}`)
  return tookMs
}
