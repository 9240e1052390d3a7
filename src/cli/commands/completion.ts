import { Argument, Command } from 'commander'
import type { AddCommand } from '../command.ts'
import { exitCodes } from '../exit-code.ts'

const completionCommandName = 'completion'
const shells = ['bash', 'zsh', 'fish', 'powershell']

/** Adds `evroute completion` and the hidden command that its scripts call at every press of Tab. */
export const addCompletionCommand: AddCommand = (program, { end }) => {
  program
    .command(completionCommandName)
    .summary('print a completion script')
    .description('Prints a script that makes a shell complete commands and flags of evroute.')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText('after', '\nExample:\n  source <(evroute completion bash)')
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

/** The suggestions of every visible command; they are written to the process's own stdout. */
async function suggestionsFor(program: Command): Promise<Suggestions> {
  const { default: tab } = await import('@bomb.sh/tab/commander')
  // The library adds commands of its own, so it gets a program to itself, without ours of their name.
  const mirror = new Command(program.name())
  for (const command of program.createHelp().visibleCommands(program)) {
    if (program.commands.includes(command) && command.name() !== completionCommandName) {
      mirror.addCommand(command)
    }
  }
  return tab(mirror, { completionCommandName })
}

interface Suggestions {
  setup(name: string, executable: string, shell: string): void
  parse(words: string[]): void
}
