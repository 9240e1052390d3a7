import { styleText } from 'node:util'
import type { Io, OutputStream } from '../io.ts'

type Paint = (text: string) => string

/** Functions that style text for a terminal. */
export interface Style {
  readonly strong: Paint
  readonly faint: Paint
  readonly good: Paint
  readonly bad: Paint
  readonly warning: Paint
  /** A name that the user chose. */
  readonly name: Paint
  readonly plain: Paint
}

/**
 * Whether to colour a stream. NO_COLOR and `--no-color` disable colour, FORCE_COLOR enables it. By default, a
 * terminal has colour unless it is dumb.
 */
export function wantsColor(io: Io, stream: OutputStream, colorFlag = true): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = io.env
  if (!colorFlag || (NO_COLOR !== undefined && NO_COLOR !== '')) return false
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '') {
    return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  }
  return stream.isTTY === true && TERM !== 'dumb'
}

const unpainted: Paint = (text) => text

/** The style without colour. */
export const plainStyle: Style = Object.freeze({
  ...{ strong: unpainted, faint: unpainted, name: unpainted, plain: unpainted },
  ...{ good: unpainted, bad: unpainted, warning: unpainted },
})

/** The style with colour. */
export const colorStyle: Style = Object.freeze({
  strong: painted('bold'),
  faint: painted('dim'),
  good: painted('green'),
  bad: painted('red'),
  warning: painted('yellow'),
  name: painted('cyan'),
  plain: unpainted,
})

function painted(format: Parameters<typeof styleText>[0]): Paint {
  // Node would decide by stdout and the environment of the process.
  return (text) => styleText(format, text, { validateStream: false })
}

/** Returns the style for a stream of a command. */
export function styleOf(io: Io, stream: 'stdout' | 'stderr', color = true): Style {
  return wantsColor(io, io[stream], color) ? colorStyle : plainStyle
}

/** The streams of a command, and how it formats its output. */
export interface CommandOutput {
  readonly io: Io
  readonly json: boolean
  readonly color: boolean
  /** The style of stdout. */
  readonly style: Style
  /** The width of the terminal; undefined if stdout is not a terminal. */
  readonly columns: number | undefined
}

/** Decides how a command formats its output. */
export function commandOutput(
  { json, color }: Pick<CommandOutput, 'json' | 'color'>,
  io: Io,
): CommandOutput {
  const columns = io.stdout.isTTY === true ? io.stdout.columns : undefined
  return { io, json, color, style: styleOf(io, 'stdout', color), columns }
}
