import type { Command } from 'commander'
import { describedProgram, subcommandsOf, textAfterHelp } from './commands.ts'
import { codesTable } from './exit-codes.ts'
import type { Sources } from './sources.ts'

/** The manual page of the command, in the language of man. */
export async function manualPage(sources: Sources): Promise<string> {
  const program = await describedProgram()
  const lines = [
    '.\\" Made by `npm run docs:reference` from the code. Edit the code, then run it again.',
    '.TH EVROUTE 1 "" evroute "User Commands"',
    '.SH NAME',
    `evroute \\- ${escaped(nameOf(program))}`,
    '.SH SYNOPSIS',
    '.B evroute',
    '.I command',
    '[options]',
    '.SH DESCRIPTION',
    ...paragraph(program.description()),
    ...paragraph(textAfterHelp(program)),
    '.SH COMMANDS',
    ...subcommandsOf(program).flatMap((command) => commandLines(command, 'evroute')),
    '.SH EXIT STATUS',
    ...codesTable(sources).flatMap(([code = '', meaning = '']) => term(code, meaning)),
    '.SH FILES',
    ...term('evroute.config.json', 'The configuration of a service, in the current folder.'),
  ]
  return `${lines.join('\n')}\n`
}

/** The description for the index of manuals, which begins in lower case and has no full stop. */
function nameOf(program: Command): string {
  const [first = '', ...rest] = program.description().replace(/\.$/, '')
  return first.toLowerCase() + rest.join('')
}

function commandLines(command: Command, parent: string): readonly string[] {
  const name = `${parent} ${command.name()}`
  const help = command.createHelp()
  const examples = textAfterHelp(command)
  return [
    `.SS "${escaped(name)}"`,
    '.PP',
    `\\fB${escaped(help.commandUsage(command))}\\fR`,
    ...paragraph(command.description()),
    ...help
      .visibleArguments(command)
      .flatMap((each) => term(help.argumentTerm(each), help.argumentDescription(each))),
    ...help
      .visibleOptions(command)
      .flatMap((each) => term(help.optionTerm(each), help.optionDescription(each))),
    ...(examples === '' ? [] : ['.PP', '.nf', ...examples.split('\n').map(textLine), '.fi']),
    ...subcommandsOf(command).flatMap((each) => commandLines(each, name)),
  ]
}

function paragraph(text: string): readonly string[] {
  return ['.PP', textLine(text.replaceAll('\n', ' '))]
}

function term(name: string, meaning: string): readonly string[] {
  return ['.TP', `\\fB${escaped(name)}\\fR`, textLine(meaning.replaceAll('\n', ' '))]
}

/** A line of text, even if it begins with a dot or an apostrophe, which would make it a request. */
function textLine(text: string): string {
  return `\\&${escaped(text)}`
}

/** Escapes backslashes and hyphens, and quotes, which would end an argument of a request. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replaceAll("'", '\\(aq')
}
