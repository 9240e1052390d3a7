import { readFile } from 'node:fs/promises'
import { plainText } from '../../model/index.ts'
import {
  ConfigurationError,
  readConfiguration,
  type ConfigurationProblem,
  type EffectiveSetting,
} from '../../service/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData, type Io } from '../io.ts'
import { columnsOf, padToColumns } from '../output/columns.ts'
import { recordLine } from '../output/records.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'

/** What is shown, and how. */
export interface ShowOptions {
  /** The configuration's file. */
  readonly path: string
  /** NDJSON records on stdout. */
  readonly json: boolean
  /** False with `--no-color`. */
  readonly color: boolean
}

/**
 * Shows every setting that is in force and where it comes from, secrets masked.
 *
 * @throws ConfigurationError with all that is wrong; EvrouteError `cannot_read_file`
 */
export async function showConfiguration(options: ShowOptions, io: Io): Promise<ExitCode> {
  const { path, json, color } = options
  const outcome = await readConfiguration(path, {
    env: io.env,
    readFile: (file) => readFile(file, 'utf8'),
  })
  if (outcome.kind === 'invalid') {
    if (json) await writeData(io, outcome.problems.map(problemRecord).join(''))
    throw new ConfigurationError(path, outcome.problems)
  }
  const { settings } = outcome
  await writeData(
    io,
    json
      ? settings.map((setting) => recordLine({ kind: 'setting', ...setting })).join('')
      : settingsTable(settings, createStyle(wantsColor(io, io.stdout, color))),
  )
  return exitCodes.ok
}

function problemRecord({ path, message, hint }: ConfigurationProblem): string {
  return recordLine({ kind: 'problem', path, message, hint: hint ?? null })
}

function settingsTable(settings: readonly EffectiveSetting[], style: Style): string {
  const rows = settings.map(({ path, value, origin }) => ({
    path: plainText(path),
    value: plainText(value === null ? 'none' : shown(value)),
    origin: plainText(origin),
  }))
  const pathWidth = Math.max(...rows.map(({ path }) => columnsOf(path)))
  const valueWidth = Math.max(...rows.map(({ value }) => columnsOf(value)))
  return rows
    .map(
      ({ path, value, origin }) =>
        `${style.name(padToColumns(path, pathWidth))}  ${padToColumns(value, valueWidth)}  ${style.faint(origin)}\n`,
    )
    .join('')
}

function shown(value: EffectiveSetting['value']): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
