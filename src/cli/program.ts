import { CommanderError, Command, type AddHelpTextContext } from 'commander'
import { EvrouteError, evrouteVersion } from '../model/index.ts'
import { codeOfEnd, isEnd, exitCodeOf, exitCodes } from './exit-code.ts'
import type { AddCommand, CommandContext } from './command.ts'
import type { Io } from './io.ts'
import { asCalled, programName } from './output/command-line.ts'
import { writeError } from './output/error.ts'
import { parseError, refuseMissingValues, triedCommand } from './parse-error.ts'

/** Runs one command, and returns its exit code. It never exits the process and never throws. */
export async function runCommand(argv: readonly string[], io: Io): Promise<number> {
  let ended: number = exitCodes.ok
  const program = await createProgram({ io, argv, end: (code) => (ended = code), run: runCommand })
  let isHelpShown = false as boolean
  program.on('afterAllHelp', ({ error }: AddHelpTextContext) => (isHelpShown = !error))
  const tried = triedCommand(program, argv)
  try {
    if (argv.every((argument) => argument === '--no-color')) {
      io.stderr.write(`${program.helpInformation()}${epilogue}\n`)
      return exitCodes.usage
    }
    refuseMissingValues(tried)
    await program.parseAsync(argv, { from: 'user' })
    return ended
  } catch (thrown) {
    if (isEnd(thrown, io)) return codeOfEnd(io)
    // Commander throws after it has printed help or the version. The code of its error is not 0 if process.exitCode
    // is set.
    if (thrown instanceof CommanderError && (isHelpShown || thrown.exitCode === 0)) {
      return exitCodes.ok
    }
    const error = thrown instanceof CommanderError ? parseError(thrown, tried) : explained(thrown)
    tellError(error, argv, io)
    return exitCodeOf(error)
  }
}

/** Explains Node's error for a working folder that has been deleted. Returns other errors unchanged. */
function explained(thrown: unknown): unknown {
  if (!(thrown instanceof Error && 'syscall' in thrown && thrown.syscall === 'uv_cwd'))
    return thrown
  return new EvrouteError({
    code: 'cannot_read_file',
    message: 'Cannot read the current folder: it does not exist any more',
    hint: 'Change to a different folder.',
    cause: thrown,
  })
}

/** Reports an error in the form that the command line asks for: as JSON or as text, with or without colour. */
export function tellError(error: unknown, argv: readonly string[], io: Io): void {
  // Arguments after `--` belong to the child command.
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  writeError(io, error, { json: own.includes('--json'), color: !own.includes('--no-color') })
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
  // The program's own options take no values, so the first other word is the command.
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
/** Descriptions of options are not wrapped if they have less room than this. */
const descriptionColumnsMin = 20

const epilogue = `
\`evroute <command> --help\` shows flags and examples. Try \`evroute demo\`.`

/** Builds the program. Loads only the command that the arguments name; without a name, loads all. */
export async function createProgram(context: CommandContext): Promise<Command> {
  const { io } = context
  const program = new Command('evroute')
    .description('Sends analytics calls as signed webhooks, and shows exactly what arrived.')
    .version(evrouteVersion, '-V, --version')
    .exitOverride()
    .configureOutput({
      // Show examples with the name that the program was called by, so that they can be pasted.
      writeOut: (text) =>
        io.stdout.write(asCalled(text, io).replace(/^ {2}evroute /gm, `  ${programName(io)} `)),
      // `main` writes all errors.
      writeErr: () => undefined,
      getOutHelpWidth: () => Math.min(io.stdout.columns ?? helpColumnsMax, helpColumnsMax),
      getErrHelpWidth: () => Math.min(io.stderr.columns ?? helpColumnsMax, helpColumnsMax),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showSuggestionAfterError()
    .addHelpText('after', epilogue)
    // Subcommands inherit this.
    .configureHelp({ minWidthToWrap: descriptionColumnsMin })
  await addCommands(program, context)
  program.configureHelp({
    minWidthToWrap: descriptionColumnsMin,
    subcommandTerm: (command) => command.name(),
  })
  for (const command of [program, ...program.commands]) {
    const hasIt = command.options.some(({ long }) => long === '--no-color')
    if (!hasIt) command.option('--no-color', 'print without colours')
  }
  program.hook('preAction', (_, command) => {
    if (program.getOptionValue('color') === false) command.setOptionValue('color', false)
  })
  return program
}
