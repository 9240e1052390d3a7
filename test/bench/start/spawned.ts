import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { stopwatch } from '../../../dist/runtime/index.js'

/** The command as it is installed. */
export const binaryPath: string = fileURLToPath(new URL('../../../bin/evroute.js', import.meta.url))

/**
 * Runs Node to its end as a shell would, with nothing of this process's environment that changes how it
 * starts.
 *
 * @returns how long that took, in milliseconds
 * @throws Error where it does not end with 0
 */
export async function runNode(argv: readonly string[]): Promise<number> {
  const { PATH = '', HOME = '' } = process.env
  const elapsedMs = stopwatch()
  const child = spawn(process.execPath, argv, { env: { PATH, HOME }, stdio: 'ignore' })
  const [code] = (await once(child, 'exit')) as [number | null]
  const tookMs = elapsedMs()
  if (code !== 0) throw new Error(`node ${argv.join(' ')} has ended with ${String(code)}`)
  return tookMs
}
