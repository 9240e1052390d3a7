import { setImmediate as nextTurn } from 'node:timers/promises'
import { EvrouteError, evrouteVersion } from '../model/index.ts'
import { exitCodeOf, exitCodes, gravest } from './exit-code.ts'
import type { Io } from './io.ts'

/** Runs one command, and returns its exit code. It never exits the process and never throws. */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  const code = await run(argv, io)
  // Wait a turn, because streams report a failed write only then.
  await nextTurn()
  const reason: unknown = io.stop.reason
  if (!(reason instanceof EvrouteError)) return code
  const { tellError } = await import('./program.ts')
  tellError(reason, argv, io)
  return gravest([code, exitCodeOf(reason)])
}

async function run(argv: readonly string[], io: Io): Promise<number> {
  // Scripts ask for the version often, so answer before anything else is loaded.
  if (argv.length === 1 && versionFlags.includes(argv[0] ?? '')) {
    io.stdout.write(`${evrouteVersion}\n`)
    return exitCodes.ok
  }
  const { runCommand } = await import('./program.ts')
  return runCommand(argv, io)
}

const versionFlags: readonly string[] = ['-V', '--version']
