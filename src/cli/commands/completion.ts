import { Argument, Command } from 'commander'
import { exitCodes } from '../exit-code.ts'
import type { AddCommand } from '../command.ts'

const completionCommandName = 'completion'
const shells = ['bash', 'zsh', 'fish', 'powershell']

/** Adds `evroute completion` and the hidden command that its scripts call on each press of Tab. */
export const addCompletionCommand: AddCommand = (program, { end }) => {
  program
    .command(completionCommandName)
    .summary('print a completion script')
    .description('Prints a completion script for a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      `
Example:
  source <(evroute completion bash)

bash needs the package bash-completion.

Exit codes: 0 printed; 2 usage.`,
    )
    .action(async (shell: string) => {
      const suggestions = await suggestionsFor(program)
      suggestions.setup('evroute', 'evroute', shell)
      end(exitCodes.ok)
    })
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .action(async (words: string[]) => {
      const suggestions = await suggestionsFor(program)
      suggestions.parse(words)
      end(exitCodes.ok)
    })
}

/** Registers all visible commands with the completion library, which writes to the stdout of the process. */
async function suggestionsFor(program: Command) {
  const { default: tab } = await import('@bomb.sh/tab/commander')
  // The library adds its own `completion` command, so give it a program that has none.
  const mirror = new Command(program.name())
  for (const command of program.createHelp().visibleCommands(program)) {
    if (program.commands.includes(command) && command.name() !== completionCommandName) {
      mirror.addCommand(command)
    }
  }
  return tab(mirror, { completionCommandName })
}
