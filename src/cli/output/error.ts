import { EvrouteError, messageOf, systemCode } from '../../model/index.ts'
import type { ConfigurationError } from '../../service/index.ts'
import type { Io } from '../io.ts'
import { asCalled } from './command-line.ts'
import { styleOf, type Style } from './style.ts'

/** Makes an `invalid_usage` error, whose exit code is 2. */
export function usageError(message: string, hint: string, cause?: unknown): EvrouteError {
  return new EvrouteError({ code: 'invalid_usage', message, hint, cause })
}

/** Makes the error for a file that cannot be written. Appends the reason. Some reasons replace the hint. */
export function cannotWrite(message: string, hint: string, cause: unknown): EvrouteError {
  const [reason, fix] = writeFailures[systemCode(cause) ?? ''] ?? []
  const text = `${message}: ${reason ?? messageOf(cause)}`
  return new EvrouteError({ code: 'cannot_write_file', message: text, hint: fix ?? hint, cause })
}

const writeFailures: Readonly<Record<string, readonly [reason: string, hint?: string]>> = {
  EISDIR: ['it is a folder', 'Name a file in it.'],
  ENOENT: ['its folder does not exist'],
  ENOSPC: ['no space is left (ENOSPC)', 'Check that there is free space there.'],
}

/** Writes an error to stderr, as JSON or as text. */
export function writeError(
  io: Io,
  error: unknown,
  { json, color }: { readonly json: boolean; readonly color: boolean },
): void {
  const text = json ? errorRecord(error) : errorText(error, styleOf(io, 'stderr', color))
  io.stderr.write(asCalled(text, io))
}

/** Formats an error as one line of JSON. A configuration error includes all its problems. */
function errorRecord(error: unknown): string {
  const { code, message, hint } = partsOf(error)
  const record = { code, message, hint: hint ?? null }
  if (!isAboutConfiguration(error)) return `${JSON.stringify({ error: record })}\n`
  const problems = error.problems.map(({ path, ...problem }) => ({
    ...{ path, message: problem.message, hint: problem.hint ?? null },
  }))
  return `${JSON.stringify({ error: { ...record, message: error.summary, problems } })}\n`
}

/** Compares the name, because importing the class would load the whole service in every command. */
function isAboutConfiguration(error: unknown): error is ConfigurationError {
  return error instanceof EvrouteError && error.name === 'ConfigurationError'
}

function errorText(error: unknown, style: Style): string {
  const { message, hint } = partsOf(error)
  return `${style.bad('evroute:')} ${message}${hint === undefined ? '' : `. ${hint}`}\n`
}

function partsOf(error: unknown): { code: string; message: string; hint: string | undefined } {
  if (error instanceof EvrouteError) return error
  const message = error instanceof Error ? (error.stack ?? error.message) : messageOf(error)
  return {
    code: 'internal',
    message: `Something went wrong inside evroute: ${message}`,
    hint: 'Please report it, with the command that you ran.',
  }
}
