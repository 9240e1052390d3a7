import { EvrouteError, messageOf } from '../../model/index.ts'
import type { Io } from '../io.ts'
import { createStyle, wantsColor, type Style } from './style.ts'

/** Tells an error on stderr: to a program, or to a person. */
export function writeError(
  io: Io,
  error: unknown,
  { json, color }: { readonly json: boolean; readonly color: boolean },
): void {
  io.stderr.write(
    json ? errorRecord(error) : errorText(error, createStyle(wantsColor(io, io.stderr, color))),
  )
}

/** An error as one line of JSON, for programs. */
export function errorRecord(error: unknown): string {
  const { code, message, hint } = partsOf(error)
  return `${JSON.stringify({ error: { code, message, hint: hint ?? null } })}\n`
}

/** An error for a person: what could not be done, then what to do about it. */
export function errorText(error: unknown, style: Style): string {
  const { message, hint } = partsOf(error)
  return `${style.bad('evroute:')} ${message}${hint === undefined ? '' : `. ${hint}`}\n`
}

function partsOf(error: unknown): {
  readonly code: string
  readonly message: string
  readonly hint: string | undefined
} {
  if (error instanceof EvrouteError) return error
  const message = error instanceof Error ? (error.stack ?? error.message) : messageOf(error)
  return {
    code: 'internal',
    message: `Something went wrong inside evroute: ${message}`,
    hint: 'Please report it with the command that you ran.',
  }
}
