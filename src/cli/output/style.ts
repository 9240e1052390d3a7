import type { Io, OutputStream } from '../io.ts'

/** Colours a piece of text, or leaves it as it is. */
type Paint = (text: string) => string

/** The few ways in which text is set apart. */
export interface Style {
  /** Important. */
  readonly strong: Paint
  /** Less important. */
  readonly faint: Paint
  /** As it should be. */
  readonly good: Paint
  /** Wrong. */
  readonly bad: Paint
  /** Worth a look. */
  readonly warning: Paint
  /** A name that somebody gave. */
  readonly name: Paint
  /** As it is. */
  readonly plain: Paint
}

/**
 * Whether a stream gets colour. NO_COLOR and `--no-color` forbid it, FORCE_COLOR asks for it, else a
 * terminal gets it that is not dumb.
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

/** The style of a stream without colour. */
export const plainStyle: Style = Object.freeze({
  strong: unpainted,
  faint: unpainted,
  good: unpainted,
  bad: unpainted,
  warning: unpainted,
  name: unpainted,
  plain: unpainted,
})

/** The style of one stream. */
export async function createStyle(color: boolean): Promise<Style> {
  if (!color) return plainStyle
  // Loaded only now: most output of scripts has no colour.
  const { Chalk } = await import('chalk')
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
