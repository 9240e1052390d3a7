import { CommanderError, type Command } from 'commander'
import { EvrouteError } from '../model/index.ts'
import { codeOfEnd, isEnd, exitCodeOf, exitCodes } from './exit-code.ts'
import type { Io } from './io.ts'
import { writeError } from './output/error.ts'
import { createProgram, epilogue } from './program.ts'

/**
 * Runs one command. It never exits the process and never throws.
 *
 * @param argv - the arguments after the program's name
 * @returns the exit code
 */
export async function runCommand(argv: readonly string[], io: Io): Promise<number> {
  let ended: number = exitCodes.ok
  const program = await createProgram({ io, argv, end: (code) => (ended = code) })
  try {
    if (argv.every((argument) => argument === '--no-color')) {
      io.stderr.write(`${program.helpInformation()}${epilogue}\n`)
      return exitCodes.usage
    }
    await program.parseAsync(argv, { from: 'user' })
    return ended
  } catch (thrown) {
    if (isEnd(thrown, io)) return codeOfEnd(io)
    // After printing help or the version, commander throws an error with exit code 0.
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return exitCodes.ok
    const error =
      thrown instanceof CommanderError ? usageError(thrown, triedCommand(program, argv)) : thrown
    await tellError(error, argv, io)
    return exitCodeOf(error)
  }
}

/** Reports an error as the command line asks for: as JSON or as text, with or without colour. */
export async function tellError(error: unknown, argv: readonly string[], io: Io): Promise<void> {
  // Arguments after `--` belong to the child command.
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  await writeError(io, error, { json: own.includes('--json'), color: !own.includes('--no-color') })
}

/** A command, and the command line that names it. */
interface TriedCommand {
  readonly command: Command
  readonly name: string
}

function triedCommand(program: Command, argv: readonly string[]): TriedCommand {
  const names = ['evroute']
  let command = program
  for (const argument of argv) {
    const next = command.commands.find((each) => each.name() === argument)
    if (next === undefined) break
    names.push(argument)
    command = next
  }
  return { command, name: names.join(' ') }
}

function usageError(error: CommanderError, { command, name }: TriedCommand): EvrouteError {
  // Here commander's message is its help, which does not say what is wrong.
  const text = error.code === 'commander.help' ? helplessText(command) : error.message
  const [first = '', suggestion] = text.replace(/^error: /, '').split('\n')
  const message = first.replace(/\.$/, '')
  const isTooMany = error.code === 'commander.excessArguments'
  return new EvrouteError({
    code: 'invalid_usage',
    message: isTooMany ? `${message}: ${unexpectedArguments(command)}` : message,
    hint: suggestion?.replace(/^\((.*)\)$/, '$1') ?? `See \`${name} --help\`.`,
    cause: error,
  })
}

/** The error for `help` with an unknown topic, or for a missing subcommand. */
function helplessText({ parent, commands }: Command): string {
  if (parent === null) return 'Cannot help with this: there is no such command'
  return `A command is missing: ${commands.map((each) => each.name()).join(', ')}`
}

/** The arguments beyond those that the command takes, quoted. */
function unexpectedArguments({ args, registeredArguments }: Command): string {
  return args
    .slice(registeredArguments.length)
    .map((argument) => JSON.stringify(argument))
    .join(' ')
}
