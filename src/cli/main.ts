import { setImmediate as nextTurn } from 'node:timers/promises'
import { CommanderError, type Command } from 'commander'
import { EvrouteError } from '../model/index.ts'
import { exitCodeOf, exitCodes, gravest, type ExitCode } from './exit-code.ts'
import type { Io } from './io.ts'
import { writeError } from './output/error.ts'
import { createProgram, epilogue } from './program.ts'

/**
 * Runs one command to its end. It never exits the process and never throws.
 *
 * @param argv - the arguments after the program's name
 * @returns the code to exit with
 */
export async function main(argv: readonly string[], io: Io): Promise<ExitCode> {
  const look = { json: argv.includes('--json'), color: !argv.includes('--no-color') }
  const code = await run(argv, io, (error) => writeError(io, error, look))
  // Streams tell in a later turn that they could not write.
  await nextTurn()
  const reason: unknown = io.stop.reason
  if (!(reason instanceof EvrouteError)) return code
  writeError(io, reason, look)
  return gravest([code, exitCodeOf(reason)])
}

async function run(
  argv: readonly string[],
  io: Io,
  tell: (error: unknown) => void,
): Promise<ExitCode> {
  let ended: ExitCode = exitCodes.ok
  const program = createProgram({ io, end: (code) => (ended = code) })
  try {
    if (argv.every((argument) => argument === '--no-color')) {
      io.stderr.write(`${program.helpInformation()}${epilogue}\n`)
      return exitCodes.usage
    }
    await program.parseAsync(argv, { from: 'user' })
    return ended
  } catch (thrown) {
    // Commander reports help and version, once they are printed, as errors with exit code 0.
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return exitCodes.ok
    const error =
      thrown instanceof CommanderError ? usageError(thrown, helpOf(program, argv)) : thrown
    tell(error)
    return exitCodeOf(error)
  }
}

/** The command line that shows help for what was tried. */
function helpOf(program: Command, argv: readonly string[]): string {
  const names = ['evroute']
  let command = program
  for (const argument of argv) {
    const next = command.commands.find((each) => each.name() === argument)
    if (next === undefined) break
    names.push(argument)
    command = next
  }
  return `${names.join(' ')} --help`
}

function usageError(error: CommanderError, help: string): EvrouteError {
  // Commander shows its general help here, which says nothing about what is wrong.
  const isUnknownTopic = error.code === 'commander.help'
  const text = isUnknownTopic ? 'Cannot help with this: there is no such command' : error.message
  const [message = '', suggestion] = text.replace(/^error: /, '').split('\n')
  return new EvrouteError({
    code: 'invalid_usage',
    message: message.replace(/\.$/, ''),
    hint: suggestion?.replace(/^\((.*)\)$/, '$1') ?? `See \`${help}\`.`,
    cause: error,
  })
}
