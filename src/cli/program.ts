import { Command } from 'commander'
import { evrouteVersion } from '../model/index.ts'
import type { AddCommand, CommandContext } from './command.ts'
import { addAudienceCommand } from './commands/audience.ts'
import { addAuditCommand } from './commands/audit.ts'
import { addCompletionCommand } from './commands/completion.ts'
import { addConfigCommand } from './commands/config.ts'
import { addDeleteCommand } from './commands/delete.ts'
import { addDeliveriesCommand } from './commands/deliveries.ts'
import { addDemoCommand } from './commands/demo.ts'
import { addExpectCommand } from './commands/expect.ts'
import { addExplainCommand } from './commands/explain.ts'
import { addInitCommand } from './commands/init.ts'
import { addListenCommand } from './commands/listen.ts'
import { addMigrateCommand } from './commands/migrate.ts'
import { addRegulationsCommand } from './commands/regulations.ts'
import { addReplayCommand } from './commands/replay.ts'
import { addRunCommand } from './commands/run.ts'
import { addSendCommand } from './commands/send.ts'
import { addServeCommand } from './commands/serve.ts'
import { addSignCommand } from './commands/sign.ts'
import { addVerifyCommand } from './commands/verify.ts'

const commands: readonly AddCommand[] = [
  addDemoCommand,
  addSendCommand,
  addListenCommand,
  addReplayCommand,
  addRunCommand,
  addServeCommand,
  addInitCommand,
  addConfigCommand,
  addDeliveriesCommand,
  addAuditCommand,
  addAudienceCommand,
  addDeleteCommand,
  addRegulationsCommand,
  addMigrateCommand,
  addExpectCommand,
  addExplainCommand,
  addSignCommand,
  addVerifyCommand,
  addCompletionCommand,
]

/** What help ends with: where to go on. */
export const epilogue = `
Run \`evroute <command> --help\` for flags and examples. \`evroute demo\` shows all of it at once.`

/** The command line, ready to parse. It writes through the context's streams and never exits. */
export function createProgram(context: CommandContext): Command {
  const { io } = context
  const program = new Command('evroute')
    .description('Sends analytics calls as signed webhooks, and shows exactly what arrived.')
    .version(evrouteVersion, '-V, --version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      // Errors are written in one place, by main.
      writeErr: () => undefined,
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      getErrHelpWidth: () => io.stderr.columns ?? 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showSuggestionAfterError()
    .addHelpText('after', epilogue)
  for (const add of commands) add(program, context)
  addColorFlag(program)
  return program
}

/** Adds `--no-color`, before a command and after it. */
function addColorFlag(program: Command): void {
  for (const command of [program, ...program.commands]) {
    const hasIt = command.options.some(({ long }) => long === '--no-color')
    if (!hasIt) command.option('--no-color', 'no colours')
  }
  program.hook('preAction', (_, command) => {
    if (program.getOptionValue('color') === false) command.setOptionValue('color', false)
  })
}
