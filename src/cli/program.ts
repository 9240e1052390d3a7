import { Command } from 'commander'
import { evrouteVersion } from '../model/index.ts'
import type { AddCommand, CommandContext } from './io.ts'

/** The commands in the order of `--help`. */
const commands: Readonly<Record<string, () => Promise<AddCommand>>> = {
  demo: async () => (await import('./commands/demo.ts')).addDemoCommand,
  send: async () => (await import('./commands/send.ts')).addSendCommand,
  check: async () => (await import('./commands/check.ts')).addCheckCommand,
  listen: async () => (await import('./commands/listen.ts')).addListenCommand,
  view: async () => (await import('./commands/view.ts')).addViewCommand,
  replay: async () => (await import('./commands/replay.ts')).addReplayCommand,
  run: async () => (await import('./commands/run.ts')).addRunCommand,
  serve: async () => (await import('./commands/serve.ts')).addServeCommand,
  init: async () => (await import('./commands/init.ts')).addInitCommand,
  config: async () => (await import('./commands/config.ts')).addConfigCommand,
  deliveries: async () => (await import('./commands/deliveries.ts')).addDeliveriesCommand,
  audit: async () => (await import('./commands/audit.ts')).addAuditCommand,
  audience: async () => (await import('./commands/audience.ts')).addAudienceCommand,
  delete: async () => (await import('./commands/delete.ts')).addDeleteCommand,
  regulations: async () => (await import('./commands/regulations.ts')).addRegulationsCommand,
  backup: async () => (await import('./commands/backup.ts')).addBackupCommand,
  migrate: async () => (await import('./commands/migrate.ts')).addMigrateCommand,
  expect: async () => (await import('./commands/expect.ts')).addExpectCommand,
  explain: async () => (await import('./commands/explain.ts')).addExplainCommand,
  sign: async () => (await import('./commands/sign.ts')).addSignCommand,
  verify: async () => (await import('./commands/verify.ts')).addVerifyCommand,
  completion: async () => (await import('./commands/completion.ts')).addCompletionCommand,
}

/** Loads the command that the arguments name, else all commands. */
async function loadCommands(argv: readonly string[]): Promise<readonly AddCommand[]> {
  // No option of the program itself takes a value.
  const name = argv.find((argument) => !argument.startsWith('-')) ?? ''
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined
  // A completion script lists all commands.
  if (load !== undefined && name !== 'completion') return [await load()]
  return Promise.all(Object.values(commands).map((loadOne) => loadOne()))
}

/** The end of the help text. */
export const epilogue = `
Run \`evroute <command> --help\` for flags and examples. \`evroute demo\` shows all of it at once.`

/**
 * Builds the command line. It writes through the context's streams and never exits.
 *
 * @param argv - the arguments; only the command in them is loaded
 */
export async function createProgram(
  argv: readonly string[],
  context: CommandContext,
): Promise<Command> {
  const { io } = context
  const program = new Command('evroute')
    .description('Sends analytics calls as signed webhooks, and shows exactly what arrived.')
    .version(evrouteVersion, '-V, --version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      // `main` writes all errors.
      writeErr: () => undefined,
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      getErrHelpWidth: () => io.stderr.columns ?? 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showSuggestionAfterError()
    .addHelpText('after', epilogue)
  for (const add of await loadCommands(argv)) add(program, context)
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
