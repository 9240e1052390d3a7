import type { Command } from 'commander'
import type { Io } from '../../../src/cli/io.ts'
import { createProgram } from '../../../src/cli/program.ts'
import { CapturedStream } from '../../support/io.ts'
import { code, escapeHtml, generatedNotice, page, table } from './markdown.ts'

/** Every command with its arguments, options and examples, from commander's tree. */
export async function commandsPage(): Promise<string> {
  const program = await describedProgram()
  const commands = subcommandsOf(program)
  const contents = commands.map(
    (command) =>
      `- [${code(`evroute ${command.name()}`)}](#evroute-${command.name()}): ${command.summary()}`,
  )
  return page([
    generatedNotice,
    '# Which commands and flags are there?',
    '`evroute <command> --help` shows the same text. See also [exit codes](exit-codes.md) and the [records of `--json`](records.md).',
    contents.join('\n'),
    ...commands.flatMap((command) => sectionsOf(command, 'evroute')),
  ])
}

/** The whole command line. It only describes itself. */
export function describedProgram(): Promise<Command> {
  const run = (): Promise<number> => Promise.resolve(0)
  return createProgram({ io: idleIo(), argv: [], end: () => undefined, run })
}

/** The visible commands below a command. */
export function subcommandsOf(command: Command): readonly Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((each) => each.name() !== 'help')
}

function sectionsOf(command: Command, parent: string): readonly string[] {
  const name = `${parent} ${command.name()}`
  const help = command.createHelp()
  const level = parent === 'evroute' ? '##' : '###'
  const rows = [
    ...help
      .visibleArguments(command)
      .map((each) => [code(help.argumentTerm(each)), help.argumentDescription(each)]),
    ...help
      .visibleOptions(command)
      .map((each) => [code(help.optionTerm(each)), help.optionDescription(each)]),
  ]
  return [
    `${level} ${name}`,
    code(help.commandUsage(command)),
    escapeHtml(command.description()),
    table(['argument or flag', 'what it does'], rows),
    ...exampleBlock(command),
    ...subcommandsOf(command).flatMap((each) => sectionsOf(each, name)),
  ]
}

function exampleBlock(command: Command): readonly string[] {
  const after = textAfterHelp(command)
  return after === '' ? [] : [`\`\`\`text\n${after}\n\`\`\``]
}

/** The text below the options in help: examples and exit codes. */
export function textAfterHelp(command: Command): string {
  const written = new CapturedStream()
  command.configureOutput({ writeOut: (text) => written.write(text), getOutHelpWidth: () => 80 })
  command.outputHelp()
  return written.text.slice(command.helpInformation().length).trim()
}

/** Streams for a program that only describes itself. */
function idleIo(): Io {
  const { signal } = new AbortController()
  return {
    stdin: { async *[Symbol.asyncIterator]() {}, isTTY: false },
    stdout: new CapturedStream({ columns: 80 }),
    stderr: new CapturedStream({ columns: 80 }),
    env: {},
    stop: signal,
    interrupted: signal,
    onHangUp: () => () => undefined,
  }
}
