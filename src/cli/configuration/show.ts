import { cutToColumns, recordLine } from '../../model/index.ts'
import { jsonLog, lineLog, systemClock } from '../../runtime/index.ts'
import type { EffectiveSetting } from '../../service/index.ts'
import type { ConfigValues } from '../commands/service.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData, type Io } from '../io.ts'
import { commandOutput } from '../output/style.ts'
import { textTable, type TableColumn } from '../output/table.ts'
import { readForCommand } from './read-for-command.ts'

/** Shows every setting in force and its origin. Secrets are masked. */
export async function showConfiguration(options: ConfigValues, io: Io): Promise<ExitCode> {
  const { path, json } = options
  const write = (line: string): void => void io.stderr.write(line)
  const log = json ? jsonLog(write, systemClock) : lineLog(write)
  const { settings } = await readForCommand({ path, json, log }, io)
  const text = json
    ? settings.map((setting) => recordLine({ kind: 'setting', ...setting })).join('')
    : textTable(settings, tableColumns, commandOutput(options, io))
  await writeData(io, text)
  return exitCodes.ok
}

const tableColumns: readonly TableColumn<EffectiveSetting>[] = [
  { title: 'setting', text: ({ path }) => path, look: 'name', columnsMin: 16, cut: cutMiddle },
  { title: 'value', text: ({ value }) => shown(value) },
  { title: 'from', text: ({ origin }) => origin, look: 'faint', columnsMin: 7 },
]

/** Cuts the middle out of a path, because the beginning and the end identify the setting. */
function cutMiddle(path: string, columnsMax: number): string {
  const reversed = (text: string): string => Array.from(text).reverse().join('')
  const [begin = ''] = /^\w{1,5}/.exec(path) ?? []
  const end = cutToColumns(reversed(path.slice(begin.length)), columnsMax - begin.length)
  return begin + reversed(end)
}

function shown(value: EffectiveSetting['value']): string {
  return typeof value === 'string' ? value : value === null ? 'none' : JSON.stringify(value)
}
