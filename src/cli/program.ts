import { CommanderError, Command } from 'commander'
import { evrouteVersion, type EvrouteError } from '../model/index.ts'
import { codeOfEnd, isEnd, exitCodeOf, exitCodes } from './exit-code.ts'
import type { AddCommand, CommandContext } from './command.ts'
import type { Io } from './io.ts'
import { programName } from './output/command-line.ts'
import { usageError, writeError } from './output/error.ts'

/**
 * Runs one command. It never exits the process and never throws.
 *
 * @param argv - the arguments after the program's name
 * @returns the exit code
 */
export async function runCommand(argv: readonly string[], io: Io): Promise<number> {
  let ended: number = exitCodes.ok
  const program = await createProgram({ io, argv, end: (code) => (ended = code), run: runCommand })
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
      thrown instanceof CommanderError ? explained(thrown, triedCommand(program, argv)) : thrown
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

function explained(error: CommanderError, { command, name }: TriedCommand): EvrouteError {
  // Here commander's message is its help, which does not say what is wrong.
  const text = error.code === 'commander.help' ? helplessText(command) : error.message
  const [first = '', suggestion] = text.replace(/^error: /, '').split('\n')
  const message = first.replace(/\.$/, '')
  const isTooMany = error.code === 'commander.excessArguments'
  return usageError(
    isTooMany ? `${message}: ${unexpectedArguments(command)}` : message,
    suggestion?.replace(/^\((.*)\)$/, '$1') ?? `See \`${name} --help\`.`,
    error,
  )
}

/** Writes the error for `help` with an unknown topic, or for a missing subcommand. */
function helplessText({ parent, commands }: Command): string {
  if (parent === null) return 'Cannot help with this: there is no such command'
  return `A command is missing: ${commands.map((each) => each.name()).join(', ')}`
}

/** Returns the arguments beyond those that the command takes, quoted. */
function unexpectedArguments({ args, registeredArguments }: Command): string {
  return args
    .slice(registeredArguments.length)
    .map((argument) => JSON.stringify(argument))
    .join(' ')
}

type LoadCommand = () => Promise<AddCommand>

/** The commands by their groups in `--help`. */
const groups: Readonly<Record<string, Readonly<Record<string, LoadCommand>>>> = {
  'Send and receive:': {
    demo: async () => (await import('./commands/demo.ts')).addDemoCommand,
    send: async () => (await import('./commands/send.ts')).addSendCommand,
    listen: async () => (await import('./commands/listen.ts')).addListenCommand,
    replay: async () => (await import('./commands/replay.ts')).addReplayCommand,
    view: async () => (await import('./commands/view.ts')).addViewCommand,
  },
  'Test:': {
    check: async () => (await import('./commands/check.ts')).addCheckCommand,
    run: async () => (await import('./commands/run.ts')).addRunCommand,
    expect: async () => (await import('./commands/expect.ts')).addExpectCommand,
    explain: async () => (await import('./commands/explain.ts')).addExplainCommand,
    sign: async () => (await import('./commands/signatures.ts')).addSignCommand,
    verify: async () => (await import('./commands/signatures.ts')).addVerifyCommand,
    mcp: async () => (await import('./commands/mcp.ts')).addMcpCommand,
  },
  'Run a service:': {
    serve: async () => (await import('./commands/service.ts')).addServeCommand,
    init: async () => (await import('./commands/service.ts')).addInitCommand,
    config: async () => (await import('./commands/service.ts')).addConfigCommand,
    deliveries: async () => (await import('./commands/deliveries.ts')).addDeliveriesCommand,
    audit: async () => (await import('./commands/store.ts')).addAuditCommand,
    backup: async () => (await import('./commands/store.ts')).addBackupCommand,
    migrate: async () => (await import('./commands/store.ts')).addMigrateCommand,
  },
  'Users:': {
    audience: async () => (await import('./commands/audience.ts')).addAudienceCommand,
    delete: async () => (await import('./commands/regulations.ts')).addDeleteCommand,
    regulations: async () => (await import('./commands/regulations.ts')).addRegulationsCommand,
  },
  'Help:': {
    completion: async () => (await import('./commands/completion.ts')).addCompletionCommand,
  },
}

async function addCommands(program: Command, context: CommandContext): Promise<void> {
  // No option of the program itself takes a value.
  const name = context.argv.find((argument) => !argument.startsWith('-')) ?? ''
  const load = Object.values(groups).find((group) => Object.hasOwn(group, name))?.[name]
  // A completion script lists all commands.
  if (load !== undefined && name !== 'completion') {
    const add = await load()
    add(program, context)
    return
  }
  for (const [heading, group] of Object.entries(groups)) {
    program.commandsGroup(heading)
    for (const add of await Promise.all(Object.values(group).map((loadOne) => loadOne()))) {
      add(program, context)
    }
  }
  program.helpCommand('help [command]', 'display help for a command')
}

const helpColumnsMax = 80

/** The end of the help text. */
const epilogue = `
\`evroute <command> --help\` has flags and examples. \`evroute demo\` shows it all.`

/** Builds the command line, with the command that the arguments name. It never exits. */
export async function createProgram(context: CommandContext): Promise<Command> {
  const { io } = context
  const program = new Command('evroute')
    .description('Sends analytics calls as signed webhooks, and shows exactly what arrived.')
    .version(evrouteVersion, '-V, --version')
    .exitOverride()
    .configureOutput({
      // Examples can be pasted as the program was called.
      writeOut: (text) => io.stdout.write(text.replace(/^ {2}evroute /gm, `  ${programName(io)} `)),
      // `main` writes all errors.
      writeErr: () => undefined,
      getOutHelpWidth: () => Math.min(io.stdout.columns ?? helpColumnsMax, helpColumnsMax),
      getErrHelpWidth: () => Math.min(io.stderr.columns ?? helpColumnsMax, helpColumnsMax),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showSuggestionAfterError()
    .addHelpText('after', epilogue)
  await addCommands(program, context)
  program.configureHelp({ subcommandTerm: (command) => command.name() })
  addColorFlag(program)
  return program
}

function addColorFlag(program: Command): void {
  for (const command of [program, ...program.commands]) {
    const hasIt = command.options.some(({ long }) => long === '--no-color')
    if (!hasIt) command.option('--no-color', 'no colours')
  }
  program.hook('preAction', (_, command) => {
    if (program.getOptionValue('color') === false) command.setOptionValue('color', false)
  })
}
