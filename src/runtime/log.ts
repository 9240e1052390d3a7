import { formatTimestamp } from '../model/index.ts'
import type { Clock } from './clock.ts'

/** Fields of a log line beside its message. Never payloads, never secrets. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** Writes one line of the log. */
export type LogLine = (message: string, fields?: LogFields) => void

/** The log of the process. */
export interface Log {
  /** Details for fault finding. */
  readonly debug: LogLine
  /** Something that was wanted and that an operator likes to find again. */
  readonly info: LogLine
  /** Something that may need attention. */
  readonly warn: LogLine
}

/** How important a line is, from the least to the most. */
export type LogLevel = keyof Log

/** All levels, from the least important to the most. */
export const logLevels: readonly LogLevel[] = Object.freeze(['debug', 'info', 'warn'] as const)

/** What ends a line for some readers, or steers a terminal. */
const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const nothing = (): void => undefined

/** Says nothing. */
export const silentLog: Log = Object.freeze({ debug: nothing, info: nothing, warn: nothing })

/** The lines of a log from a level on. */
export function logFrom(level: LogLevel, log: Log): Log {
  const from = logLevels.indexOf(level)
  const [debug, info, warn] = [log.debug, log.info, log.warn].map((line, index) =>
    index < from ? nothing : line,
  ) as [LogLine, LogLine, LogLine]
  return { debug, info, warn }
}

/**
 * Writes each line through the given function: the message, then `name=value` for every field.
 * Characters in a value that would break the line or steer a terminal are written as `\u{a}`.
 */
export function lineLog(write: (line: string) => void): Log {
  const line =
    (level: string): LogLine =>
    (message, fields) =>
      write(`${level} ${message}${formatFields(fields)}\n`)
  return { debug: line('debug'), info: line('info'), warn: line('warn') }
}

function formatFields(fields: LogFields | undefined): string {
  return Object.entries(fields ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${visible(String(value))}`)
    .join('')
}

/**
 * Writes each line through the given function as one JSON object: `time` (UTC, ISO 8601), `level`,
 * `message`, then the fields. Characters that would break the line or steer a terminal are escaped.
 */
export function jsonLog(write: (line: string) => void, clock: Pick<Clock, 'nowMs'>): Log {
  const line =
    (level: string): LogLine =>
    (message, fields) => {
      const head = { time: formatTimestamp(clock.nowMs()), level, message }
      // Repeat them at the end, so that no field replaces them and they stay first.
      write(`${escaped(JSON.stringify({ ...head, ...fields, ...head }))}\n`)
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn') }
}

/** JSON without characters that readers act upon; as data it stays the same. */
function escaped(json: string): string {
  return json.replace(steering, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** Values such as messageIds come from outside. */
function visible(text: string): string {
  return text.replace(
    steering,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`,
  )
}

/**
 * The log that the environment asks for: with `analytics` among the names in DEBUG (separated by
 * commas or blanks; `*` means all) it writes to stderr. Else it keeps the rest to itself, and warnings
 * are warnings of the process of the type `EvrouteWarning`: Node prints them, unless told not to, and
 * gives them to `process.on('warning')`.
 */
export function logFromEnvironment(environment: NodeJS.ProcessEnv = process.env): Log {
  const names = (environment['DEBUG'] ?? '').split(/[\s,]+/)
  const wanted = names.some((name) => name === 'analytics' || name === 'analytics*' || name === '*')
  return wanted ? lineLog((line) => process.stderr.write(`analytics ${line}`)) : warningsOnly
}

const warningsOnly: Log = Object.freeze({
  debug: nothing,
  info: nothing,
  warn: (message: string, fields?: LogFields) =>
    process.emitWarning(`${message}${formatFields(fields)}`, 'EvrouteWarning'),
})
