import { Option, type Command } from 'commander'
import type { Io } from './io.ts'

/** What a command gets in addition to its options and arguments. */
export interface CommandContext {
  readonly io: Io
  readonly argv: readonly string[]
  /** Sets the exit code, which may be that of a child process. */
  readonly end: (code: number) => void
  readonly run: RunCommand
}

/** Runs a command with the given streams. */
export type RunCommand = (argv: readonly string[], io: Io) => Promise<number>

/** Adds a command to the program, or to a command that has subcommands. */
export type AddCommand = (parent: Command, context: CommandContext) => void

/** An option of commander, with the type of its value. */
export class CommandOption<Value> extends Option {
  /** The value if the option is not given. */
  otherwise: Value

  constructor(flags: string, text: string, otherwise: Value) {
    super(flags, text)
    this.otherwise = otherwise
  }

  /** Sets a default that the option's text already states, so the help does not add it. */
  or(otherwise: NonNullable<Value>): CommandOption<NonNullable<Value>> {
    this.otherwise = otherwise
    return this as CommandOption<NonNullable<Value>>
  }

  /** Sets a default, which the help shows after the option's text. */
  orShown(otherwise: NonNullable<Value>): CommandOption<NonNullable<Value>> {
    return this.default(otherwise).or(otherwise)
  }

  /** Makes the option mandatory, so that its value is never undefined. */
  needed(): CommandOption<NonNullable<Value>> {
    return this.makeOptionMandatory() as CommandOption<NonNullable<Value>>
  }

  /** Lists the values in help and completion. An option without a parser also refuses other values. */
  override choices(choices: readonly string[]): this {
    const { parseArg } = this
    super.choices(choices)
    return parseArg === undefined ? this : this.argParser(parseArg)
  }
}

/** Makes an option with a value. `parse` gets the text and, if the option is repeated, the value so far. */
export function option<Value>(
  flags: string,
  text: string,
  parse: (text: string, previous?: Value) => Value,
): CommandOption<Value | undefined>
export function option<Value extends string = string>(
  flags: string,
  text: string,
): CommandOption<Value | undefined>
export function option<Value>(
  flags: string,
  text: string,
  parse?: (text: string, previous?: Value) => Value,
): CommandOption<Value | undefined> {
  const made = new CommandOption<Value | undefined>(flags, text, undefined)
  return parse === undefined ? made : made.argParser(parse)
}

/** Makes an option without a value: false unless it is given. An option such as `--no-color` is true unless given. */
export function flag(flags: string, text: string): CommandOption<boolean> {
  return new CommandOption(flags, text, flags.startsWith('--no-'))
}

type Options = Readonly<Record<string, CommandOption<unknown>>>

/** The parsed values of a table of options. */
export type ValuesOf<Table extends Options> = {
  readonly [Name in keyof Table]: Table[Name] extends CommandOption<infer Value> ? Value : never
}

/** Adds the defaults of the options that are not given. */
export function withDefaults<Table extends Options>(
  options: Table,
  given: Partial<ValuesOf<Table>>,
): ValuesOf<Table> {
  const entries = Object.entries(options).map(([name, { otherwise }]) => [
    name,
    (given as Readonly<Record<string, unknown>>)[name] ?? otherwise,
  ])
  return Object.fromEntries(entries) as ValuesOf<Table>
}

/** Puts options under a heading in the help text. */
export function inGroup<Table extends Options>(heading: string, options: Table): Table {
  for (const option of Object.values(options)) option.helpGroup(heading)
  return options
}

interface CommandTexts {
  readonly name: string
  /** Whether the parent command runs this one if no subcommand is named. */
  readonly isDefault?: boolean
  readonly summary: string
  readonly description: string
  /** The end of the help text, such as examples and exit codes. */
  readonly after?: string
}

type ArgumentParts = readonly [term: string, text: string, otherwise?: string]

interface CommandParts<Table extends Options, Args> extends CommandTexts {
  readonly arguments?: readonly ArgumentParts[]
  readonly options: Table
  /** The part of the usage line after the command's name. By default, commander makes it. */
  readonly usage?: string
  /** Returns the exit code, or throws. The program reports a thrown error and returns its exit code. */
  readonly run: (values: ValuesOf<Table>, context: CommandContext, args: Args) => Promise<number>
}

/** Defines a command. Import its code in `run`, so that help and usage errors appear at once. */
export function command<Table extends Options, Args extends readonly unknown[]>(
  parts: CommandParts<Table, Args>,
): AddCommand {
  const { arguments: args = [], options, usage, run } = parts
  return (parent, context) => {
    const added = described(parent, parts)
    for (const [term, text, otherwise] of args) added.argument(term, text, otherwise)
    for (const option of Object.values(options)) added.addOption(option)
    if (usage !== undefined) added.usage(usage)
    added.action(async () => {
      const entries = Object.entries(options).map(([name, option]) => [
        name,
        added.getOptionValue(option.attributeName()) as unknown,
      ])
      const values = withDefaults(options, Object.fromEntries(entries) as Partial<ValuesOf<Table>>)
      context.end(await run(values, context, added.processedArgs as unknown as Args))
    })
  }
}

/** Defines a command that has subcommands. */
export function commandFamily(texts: CommandTexts, commands: readonly AddCommand[]): AddCommand {
  return (parent, context) => {
    const family = described(parent, texts)
    for (const add of commands) add(family, context)
  }
}

function described(
  parent: Command,
  { name, isDefault = false, summary, description, after }: CommandTexts,
): Command {
  const added = parent.command(name, { isDefault }).summary(summary).description(description)
  if (after === undefined) return added
  return added.addHelpText('after', ({ command }) => `\n${fitToHelp(after, command)}`)
}

/** Wraps paragraphs to the width of the help text. Paragraphs with indented lines stay as they are. */
export function fitToHelp(text: string, command: Command): string {
  const columns = command.configureOutput().getOutHelpWidth?.() ?? 80
  const help = command.createHelp()
  const paragraphs = text.split('\n\n').map((paragraph) => {
    const isIndented = /^ /m.test(paragraph)
    return isIndented ? paragraph : help.boxWrap(paragraph.replaceAll('\n', ' '), columns)
  })
  return paragraphs.join('\n\n')
}
