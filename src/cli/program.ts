import { Command } from 'commander'
import { evrouteVersion } from '../model/index.ts'
import type { AddCommand, CommandContext } from './io.ts'
import { programName } from './output/command-line.ts'

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
    sign: async () => (await import('./commands/sign.ts')).addSignCommand,
    verify: async () => (await import('./commands/verify.ts')).addVerifyCommand,
  },
  'Run a service:': {
    serve: async () => (await import('./commands/serve.ts')).addServeCommand,
    init: async () => (await import('./commands/init.ts')).addInitCommand,
    config: async () => (await import('./commands/config.ts')).addConfigCommand,
    deliveries: async () => (await import('./commands/deliveries.ts')).addDeliveriesCommand,
    audit: async () => (await import('./commands/audit.ts')).addAuditCommand,
    backup: async () => (await import('./commands/backup.ts')).addBackupCommand,
    migrate: async () => (await import('./commands/migrate.ts')).addMigrateCommand,
  },
  'Users:': {
    audience: async () => (await import('./commands/audience.ts')).addAudienceCommand,
    delete: async () => (await import('./commands/delete.ts')).addDeleteCommand,
    regulations: async () => (await import('./commands/regulations.ts')).addRegulationsCommand,
  },
  'Help:': {
    completion: async () => (await import('./commands/completion.ts')).addCompletionCommand,
  },
}

/** Adds the command that the arguments name, else all commands. */
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
export const epilogue = `
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

/** Adds `--no-color` to the program and to every command. */
function addColorFlag(program: Command): void {
  for (const command of [program, ...program.commands]) {
    const hasIt = command.options.some(({ long }) => long === '--no-color')
    if (!hasIt) command.option('--no-color', 'no colours')
  }
  program.hook('preAction', (_, command) => {
    if (program.getOptionValue('color') === false) command.setOptionValue('color', false)
  })
}
