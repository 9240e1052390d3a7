import { plainText, columnsOf, cutToColumns, padToColumns, recordLine } from '../../model/index.ts'
import { jsonLog, lineLog, systemClock } from '../../runtime/index.ts'
import type { EffectiveSetting } from '../../service/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData, type Io } from '../io.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { readForCommand } from './read-for-command.ts'

/** The options of `evroute config`. */
export interface ShowOptions {
  /** Path of the configuration file. */
  readonly path: string
  /** NDJSON records on stdout. */
  readonly json: boolean
  /** False with `--no-color`. */
  readonly color: boolean
}

/**
 * Shows every setting in force and its origin. Secrets are masked.
 *
 * @throws ConfigurationError with all problems; EvrouteError `cannot_read_file`
 */
export async function showConfiguration(options: ShowOptions, io: Io): Promise<ExitCode> {
  const { path, json, color } = options
  const write = (line: string): void => void io.stderr.write(line)
  const log = json ? jsonLog(write, systemClock) : lineLog(write)
  const { settings } = await readForCommand({ path, json, log }, io)
  // Without a terminal, lines may have any length.
  const columnsMax = io.stdout.isTTY === true ? io.stdout.columns : undefined
  await writeData(
    io,
    json
      ? settings.map((setting) => recordLine({ kind: 'setting', ...setting })).join('')
      : settingsTable(settings, {
          style: await createStyle(wantsColor(io, io.stdout, color)),
          columnsMax: columnsMax ?? Infinity,
        }),
  )
  return exitCodes.ok
}

interface TableView {
  readonly style: Style
  /** The maximum width of a line. */
  readonly columnsMax: number
}

/** The columns of the table, from left to right. */
const columnNames = ['path', 'value', 'origin'] as const

type Widths = Readonly<Record<(typeof columnNames)[number], number>>

const gapWidth = 2

/** The columns that shrink if there is no room, in this order, and their minimum widths. */
const concessions: readonly (readonly [keyof Widths, number])[] = [
  ['value', 16],
  ['origin', 12],
  ['path', 24],
  ['value', 8],
  ['origin', 7],
  ['path', 12],
]

function settingsTable(
  settings: readonly EffectiveSetting[],
  { style, columnsMax }: TableView,
): string {
  const rows = settings.map(({ path, value, origin }) => ({
    path: plainText(path),
    value: plainText(value === null ? 'none' : shown(value)),
    origin: plainText(origin),
  }))
  const widest = (name: keyof Widths): number =>
    Math.max(...rows.map((row) => columnsOf(row[name])))
  const wanted = { path: widest('path'), value: widest('value'), origin: widest('origin') }
  const widths = fit(wanted, columnsMax)
  const cell = (text: string, width: number): string =>
    padToColumns(cutToColumns(text, width), width)
  return rows
    .map(({ path, value, origin }) => {
      const cells = [
        style.name(padToColumns(cutFront(path, widths.path), widths.path)),
        cell(value, widths.value),
        style.faint(cutToColumns(origin, widths.origin)),
      ]
      return `${cells.join(' '.repeat(gapWidth))}\n`
    })
    .join('')
}

function fit(wanted: Widths, columnsMax: number): Widths {
  const widths = { ...wanted }
  for (const [name, width] of concessions) {
    const total = columnNames.reduce((sum, each) => sum + widths[each] + gapWidth, -gapWidth)
    const excess = Math.max(total - columnsMax, 0)
    widths[name] = Math.min(widths[name], Math.max(width, widths[name] - excess))
  }
  return widths
}

/** The end of a path tells most. */
function cutFront(path: string, columnsMax: number): string {
  const reversed = (text: string): string => Array.from(text).reverse().join('')
  return reversed(cutToColumns(reversed(path), columnsMax))
}

function shown(value: EffectiveSetting['value']): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
