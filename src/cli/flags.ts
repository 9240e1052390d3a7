import { InvalidArgumentError } from 'commander'
import {
  eventTypes,
  formatDuration,
  parseDuration,
  parseTimestamp,
  SettingError,
} from '../model/index.ts'
import { systemClock } from '../runtime/index.ts'
import { flag, inGroup, option, type ValuesOf } from './command.ts'

/** Parses a duration flag into milliseconds. */
export function duration(text: string): number {
  const durationMs = parseDuration(text)
  if (durationMs !== undefined) return durationMs
  throw new InvalidArgumentError('It must be a duration such as 500ms, 5s, 1.5m or 4h.')
}

/** Makes a parser for durations in a range, in milliseconds. */
export function durationUpTo(maxMs: number, minMs = 0): (text: string) => number {
  return (text) => {
    const durationMs = duration(text)
    if (durationMs >= minMs && durationMs <= maxMs) return durationMs
    const least = minMs === 0 ? '' : `at least ${formatDuration(minMs)} and `
    throw new InvalidArgumentError(`It must be ${least}at most ${formatDuration(maxMs)}.`)
  }
}

/** Makes a parser for whole numbers in a range. */
export function countFlag(min: number, max: number): (text: string) => number {
  return (text) => {
    const count = Number(text)
    if (/^\d+$/.test(text) && count >= min && count <= max) return count
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

/** Makes a parser for one of several words. */
export function choiceOf<Choice extends string>(
  choices: readonly Choice[],
): (text: string) => Choice {
  return (text) => {
    const choice = choices.find((each) => each === text)
    if (choice !== undefined) return choice
    throw new InvalidArgumentError(`It must be one of ${choices.join(', ')}.`)
  }
}

/** Makes a parser that collects the words of a repeatable flag. */
export function choicesOf<Choice extends string>(
  choices: readonly Choice[],
): (text: string, previous?: readonly Choice[]) => readonly Choice[] {
  return (text, previous = []) => [...previous, choiceOf(choices)(text)]
}

/** The option that names the columns with userIds in a list. */
export const idColumnsOption = option(
  '--id-column <name>',
  'a column with userIds, repeatable (default: userId, user_id or id)',
  repeatable,
).or([])

/** Refuses an empty id. */
export function idFlag(text: string): string {
  if (text !== '') return text
  throw new InvalidArgumentError('It must not be empty.')
}

/** Checks a timestamp, and returns its text. */
export function timestampFlag(text: string): string {
  if (parseTimestamp(text) !== undefined) return text
  throw new InvalidArgumentError(
    'It must be a timestamp such as 2026-11-20 or 2026-11-20T10:15:00Z.',
  )
}

/** Parses a timestamp, or a duration before now, into milliseconds since 1970. */
export function momentFlag(text: string): number {
  const agoMs = parseDuration(text)
  const instantMs = agoMs === undefined ? parseTimestamp(text) : systemClock.nowMs() - agoMs
  if (instantMs !== undefined) return instantMs
  throw new InvalidArgumentError(
    'It must be a timestamp such as 2026-11-20 or 2026-11-20T10:15:00Z, or a duration before now, such as 90s, 2h or 7d.',
  )
}

/** Collects the event types of a repeatable flag. */
export const eventTypesFlag = choicesOf(eventTypes)

/** Collects the values of a repeatable flag. */
export function repeatable(text: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, text]
}

/** Collects `Name: value` flags as headers. Names are case-insensitive; the last value wins. */
export function headerFlag(
  text: string,
  previous: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const colon = text.indexOf(':')
  if (colon < 1) throw new InvalidArgumentError('It must be written as "Name: value".')
  const name = text.slice(0, colon).trim()
  const others = Object.entries(previous).filter(
    ([other]) => other.toLowerCase() !== name.toLowerCase(),
  )
  return { ...Object.fromEntries(others), [name]: text.slice(colon + 1).trim() }
}

/** Collects `Name=true` and `Name=false` flags as integrations. */
export function integrationFlag(
  text: string,
  previous: Readonly<Record<string, boolean>> = {},
): Readonly<Record<string, boolean>> {
  const match = /^(.+)=(true|false)$/.exec(text)
  if (match?.[1] === undefined) {
    throw new InvalidArgumentError('It must be Name=true or Name=false.')
  }
  return { ...previous, [match[1]]: match[2] === 'true' }
}

/** A report file to write. An existing file is replaced. */
export interface ReportFile {
  readonly kind: 'junit'
  readonly path: string
}

/** The option of commands that can write a report for CI. */
export const reportOption = option(
  '--report <kind=file>',
  'write a test report, as in junit=report.xml',
  reportFlag,
).or([])

function reportFlag(text: string, previous: readonly ReportFile[] = []): readonly ReportFile[] {
  const [, path] = /^junit=(.+)$/s.exec(text) ?? []
  if (path !== undefined) return [...previous, { kind: 'junit', path }]
  throw new InvalidArgumentError('It must be junit=<file>.')
}

/** The configuration file that commands read by default. */
export const defaultConfigurationPath = 'evroute.config.json'

/** The values of `--language`, for help. */
export const languageNames = 'node, express, fastify, hono, go, python, php, ruby'

/** Returns the code of the handler that `--language` asks for. */
export async function handlerIn(language: string): Promise<string> {
  // Import here: most runs don't need the receiver.
  const { isSnippetLanguage, snippetLanguages, snippets } = await import('../receiver/index.ts')
  if (isSnippetLanguage(language)) return snippets[language]
  throw new SettingError(
    '--language',
    `Cannot print a handler for "${language}"`,
    `It must be one of ${snippetLanguages.join(', ')}.`,
  )
}

/** Makes the options for output. `quiet` and `verbose` are the help texts of those flags. */
export function outputOptions({
  quiet = 'print only the result',
  verbose = 'print a line for every request',
} = {}) {
  const { json, color, ...rest } = resultOptions(quiet)
  return inGroup('Output:', {
    ...{ json, ...rest },
    verbose: flag('-v, --verbose', verbose).conflicts(['quiet']),
    color,
  })
}

/** Like {@link outputOptions}, for a command without `--verbose`. */
export function resultOptions(quiet = 'print only the result') {
  return inGroup('Output:', {
    json: flag('--json', 'write NDJSON records to stdout'),
    quiet: flag('-q, --quiet', quiet),
    color: flag('--no-color', 'print without colours'),
  })
}

const storeForms = 'sqlite:<file>, postgres://..., env:NAME or @file'

/** The options that name a store. */
export const storeOptions = {
  config: option('--config <file>', `the configuration (default: ${defaultConfigurationPath})`),
  store: option(
    '--store <url>',
    `the store, instead of the configured one: ${storeForms}; also EVROUTE_STORE`,
  ),
}

/** The options that name a store or a service. */
export const targetOptions = {
  ...storeOptions,
  api: option('--api <url>', 'ask a running service instead: the URL of its admin API'),
  token: option(
    '--token <token>',
    'the admin token for --api: a value, env:NAME or @file; also EVROUTE_ADMIN_TOKEN',
  ),
}

/** The options of every command that works on a store or a service. */
export const accessOptions = {
  ...targetOptions,
  json: flag('--json', 'write NDJSON records to stdout'),
  color: flag('--no-color', 'print without colours'),
}

/** The parsed {@link storeOptions}. */
export type StoreValues = ValuesOf<typeof storeOptions>

/** The parsed {@link targetOptions}. */
export type TargetValues = ValuesOf<typeof targetOptions>

/** The parsed {@link accessOptions}. */
export type AccessValues = ValuesOf<typeof accessOptions>
