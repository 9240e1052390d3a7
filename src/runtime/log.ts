import { formatTimestamp, printableJson } from '../model/index.ts'
import type { Clock } from './clock.ts'

/** Fields of a log line, in addition to its message. They never contain payloads or secrets. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** Writes one line of the log. */
export type LogLine = (message: string, fields?: LogFields) => void

/** A log with a method for each level. */
export interface Log {
  /** Details for troubleshooting. */
  readonly debug: LogLine
  /** Normal events that operators look for. */
  readonly info: LogLine
  /** Events that may need attention. */
  readonly warn: LogLine
}

/** The severity of a line: `debug`, `info` or `warn`. */
export type LogLevel = keyof Log

/** All levels, from the least severe to the most. */
export const logLevels: readonly LogLevel[] = Object.freeze(['debug', 'info', 'warn'] as const)

/** A value that a line shows without quotes. */
const bareValue = /^[^\s"=\p{Cc}\p{Cf}]+$/u

const nothing = (): void => undefined

/** Writes nothing. */
export const silentLog: Log = Object.freeze({ debug: nothing, info: nothing, warn: nothing })

/** Returns a log that drops lines below a level and passes the others on. */
export function logFrom(level: LogLevel, log: Log): Log {
  const from = logLevels.indexOf(level)
  return logOf((each) => (logLevels.indexOf(each) < from ? nothing : log[each]))
}

function logOf(line: (level: LogLevel) => LogLine): Log {
  return { debug: line('debug'), info: line('info'), warn: line('warn') }
}

/** Makes a log that writes lines of text: the level, the message, then `name=value` or `name="two words"` for every field. */
export function lineLog(write: (line: string) => void): Log {
  return logOf(
    (level) => (message, fields) => write(`${level} ${message}${formatFields(fields)}\n`),
  )
}

function formatFields(fields: LogFields | undefined): string {
  return Object.entries(fields ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${visible(String(value))}`)
    .join('')
}

/** Makes a log that writes each line as a JSON object: `time` (UTC, ISO 8601), `level`, `message`, then the fields. */
export function jsonLog(write: (line: string) => void, clock: Pick<Clock, 'nowMs'>): Log {
  return logOf((level) => (message, fields) => {
    const head = { time: formatTimestamp(clock.nowMs()), level, message }
    // The head comes first, and no field can replace it.
    write(`${printableJson(JSON.stringify({ ...head, ...fields, ...head }))}\n`)
  })
}

/** Quotes a value unless it is a single word, so that an untrusted value can't pass for several fields. */
function visible(text: string): string {
  return bareValue.test(text) ? text : printableJson(JSON.stringify(text))
}

/**
 * Returns the log that the environment selects. If DEBUG contains `analytics` or `*`, it writes every line to stderr.
 * Otherwise it writes only warnings, as process warnings of the type `EvrouteWarning`, which Node prints by default.
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
