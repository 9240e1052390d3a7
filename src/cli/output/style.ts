import { createRequire } from 'node:module'
import type * as chalkPackage from 'chalk'
import type { Io, OutputStream } from '../io.ts'

type Paint = (text: string) => string

/** Functions that style text for a terminal. */
export type Style = Readonly<
  Record<'strong' | 'faint' | 'good' | 'bad' | 'warning' | 'name' | 'plain', Paint>
>

/** Whether to colour a stream. By default, only a terminal has colour. NO_COLOR and `--no-color` beat FORCE_COLOR. */
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

/** Makes the style with colour. Loads chalk only here, because loading it delays a command by 10 ms. */
export function colorStyle(): Style {
  const { Chalk } = createRequire(import.meta.url)('chalk') as typeof chalkPackage
  // Without a level, chalk would decide by stdout and the environment of the process.
  const chalk = new Chalk({ level: 1 })
  return {
    strong: chalk.bold,
    faint: chalk.dim,
    good: chalk.green,
    bad: chalk.red,
    warning: chalk.yellow,
    name: chalk.cyan,
    plain: unpainted,
  }
}

/** Returns the style with colour if {@link wantsColor} says so. */
export function styleOf(io: Io, stream: 'stdout' | 'stderr', color = true): Style {
  return wantsColor(io, io[stream], color) ? colorStyle() : plainStyle
}

/** The streams of a command, and how it formats its output. */
export interface CommandOutput {
  readonly io: Io
  readonly json: boolean
  readonly color: boolean
  readonly style: Style
  /** The width of the terminal; undefined if stdout is not a terminal. */
  readonly columns: number | undefined
}

/** Finds the style and the width that fit stdout. */
export function commandOutput(
  { json, color }: Pick<CommandOutput, 'json' | 'color'>,
  io: Io,
): CommandOutput {
  const columns = io.stdout.isTTY === true ? io.stdout.columns : undefined
  return { io, json, color, style: styleOf(io, 'stdout', color), columns }
}
