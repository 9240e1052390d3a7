import type { Command, CommanderError, Option } from 'commander'
import type { EvrouteError } from '../model/index.ts'
import { usageError } from './output/error.ts'

/** The command that a command line names, for error messages. */
export interface TriedCommand {
  readonly command: Command
  /** The full name, such as `evroute deliveries show`. */
  readonly name: string
  /** The arguments after the names. */
  readonly rest: readonly string[]
}

/** Finds the command that a command line names. Its arguments begin with the first word that is not a command. */
export function triedCommand(program: Command, argv: readonly string[]): TriedCommand {
  // The program's own options take no values, so the first other word is the command.
  const first = argv.findIndex((word) => !word.startsWith('-'))
  let [command, name, rest] = [program, 'evroute', first === -1 ? [] : argv.slice(first)]
  for (const word of rest) {
    const next = command.commands.find((each) => each.name() === word)
    if (next === undefined) break
    ;[command, name, rest] = [next, `${name} ${word}`, rest.slice(1)]
  }
  return { command, name, rest }
}

/** Refuses an option without its value, as in `--event --secret`. Commander would take the next option as the value. */
export function refuseMissingValues({ command, name, rest }: TriedCommand): void {
  // The name of a default command may be left out, so check the options of subcommands too.
  const options = [command, ...command.commands].flatMap((each) =>
    each.createHelp().visibleOptions(each),
  )
  const optionOf = (word: string): Option | undefined =>
    options.find(({ short, long }) => word === short || word === long)
  for (let at = 0; at < rest.length && rest[at] !== '--'; at += 1) {
    const option = optionOf(rest[at] ?? '')
    if (option?.required !== true) continue
    at += 1
    const value = rest[at]
    const isOption = value === '--' || optionOf(value?.replace(/=.*/s, '') ?? '') !== undefined
    if (value === undefined || !isOption) continue
    const flag = flagOf(option.flags)
    const hint = `If ${value} is the value, write ${flag}=${value}.`
    throw usageError(`Cannot run \`${name}\`: ${flag} needs a value`, hint)
  }
}

/** Converts commander's error to one that says what is wrong and what to try. */
export function parseError(error: CommanderError, tried: TriedCommand): EvrouteError {
  const [text = '', suggestion] = error.message.replace(/^error: /, '').split('\n')
  const found = [...text.matchAll(/'(.*?)'(?=[ .]|$)/g)].map(([, name = '']) => name)
  const describe = descriptions[error.code]
  const { message, hint } = describe?.({ ...tried, text, found }) ?? { message: text }
  const similar = suggestion?.replace(/^\((.*)\)$/, '$1')
  return usageError(message, similar ?? hint ?? `See \`${tried.name} --help\`.`, error)
}

interface Refusal extends TriedCommand {
  /** Commander's message. */
  readonly text: string
  /** The quoted parts of the message. Commander's errors have no fields for them. */
  readonly found: readonly string[]
}

type Describe = (refusal: Refusal) => {
  readonly message: string
  readonly hint?: string | undefined
}

/** Keyed by the codes of commander's errors. */
const descriptions: Readonly<Record<string, Describe>> = {
  // Commander's message is the help text, which does not say what is wrong.
  'commander.help': ({ command, name, rest }) =>
    command.parent === null || rest.length > 0
      ? { message: `Cannot show help for ${quoted(rest.slice(1))}: there is no such command` }
      : {
          message: `Cannot run \`${name}\`: a command is missing`,
          hint: commandsText(command),
        },
  'commander.missingArgument': ({ found: [argument = ''], ...tried }) => ({
    message: `Cannot run \`${tried.name}\`: <${argument}> is missing`,
    hint: tryText(tried),
  }),
  'commander.missingMandatoryOptionValue': ({ found: [flags = ''], ...tried }) => ({
    message: `Cannot run \`${tried.name}\`: ${withoutShort(flags)} is missing`,
    hint: tryText(tried),
  }),
  'commander.optionMissingArgument': ({ name, found: [flags = ''] }) => ({
    message: `Cannot run \`${name}\`: ${flagOf(flags)} needs a value`,
  }),
  'commander.invalidArgument': ({ name, text, found: [one = '', other = ''] }) => {
    const [argument, value] = text.startsWith('option') ? [flagOf(one), other] : [`<${other}>`, one]
    return {
      message: `Cannot run \`${name}\`: ${argument} cannot be ${JSON.stringify(value)}`,
      hint: text.slice(text.lastIndexOf("'")).split('. ').slice(1).join('. '),
    }
  },
  'commander.unknownOption': ({ found: [flag = ''], ...tried }) => ({
    message: `Cannot run \`${tried.name}\`: there is no option ${flag}`,
    hint: otherCase(tried.command, flag) ?? commandFirst(tried, tried.rest),
  }),
  'commander.unknownCommand': ({ name, found: [word = ''] }) => ({
    message: `Cannot run \`${name} ${word}\`: there is no such command`,
  }),
  'commander.conflictingOption': ({ found: [one = '', other = ''] }) => ({
    message: `Cannot use ${flagOf(one)} together with ${flagOf(other)}`,
  }),
  'commander.excessArguments': (tried) => {
    const { command, name } = tried
    // A mistyped subcommand, or one after flags, becomes an argument of the default command.
    const [word] = command.commands.flatMap(({ args }) => args)
    if (word !== undefined) {
      const hint = commandFirst(tried, [word])
      const why = hint === undefined ? 'there is no such command' : 'flags stand before the command'
      return {
        message: `Cannot run \`${name} ${word}\`: ${why}`,
        hint: hint ?? commandsText(command),
      }
    }
    const excess = command.args.slice(command.registeredArguments.length)
    return { message: `Cannot run \`${name}\`: too many arguments: ${quoted(excess)}` }
  },
}

/** Returns the long flag of `-f, --file <path>`. */
function flagOf(flags: string): string {
  return withoutShort(flags).replace(/ .*/, '')
}

function commandsText({ commands }: Command): string {
  return `Its commands are ${commands.map((each) => each.name()).join(', ')}.`
}

function withoutShort(flags: string): string {
  return flags.replace(/^-\w, /, '')
}

function quoted(words: readonly string[]): string {
  return words.map((word) => JSON.stringify(word)).join(' ')
}

/** Suggests to put the subcommand that is one of the words before its flags; undefined if no word is one. */
function commandFirst(
  { command, name, rest: [flag = ''] }: TriedCommand,
  words: readonly string[],
): string | undefined {
  const found = words.find((word) => command.commands.some((each) => each.name() === word))
  return found && `Put the command first: \`${name} ${found} ${flag.replace(/=.*/s, '')} ...\`.`
}

/** Suggests `-V` for `-v`; undefined if there is no such option. */
function otherCase({ options }: Command, flag: string): string | undefined {
  const found = options.find(({ short }) => short?.toLowerCase() === flag.toLowerCase())
  return found === undefined ? undefined : `Did you mean ${found.flags}?`
}

/** Suggests the first example in the help of a command; undefined if it has none. */
function tryText({ command, name }: TriedCommand): string | undefined {
  let help = ''
  command.configureOutput({ writeErr: (text) => (help += text) }).outputHelp({ error: true })
  const [, example] = new RegExp(`^ {2}.*?(${name} [^)\n]*)`, 'm').exec(help) ?? []
  return example === undefined ? undefined : `Try \`${example}\`.`
}
