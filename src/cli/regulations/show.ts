import { EvrouteError, plainText, recordLine } from '../../model/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData } from '../io.ts'
import type { ReadersRun } from '../operations/run-readers.ts'
import { regulationText } from './regulation-text.ts'

/**
 * Shows what a regulation has erased and sent, and its users.
 *
 * @throws EvrouteError `invalid_usage` for an unknown id
 */
export async function showRegulation(id: string, run: ReadersRun): Promise<ExitCode> {
  const { regulations, io, json, nowMs, style, columns } = run
  const found = await regulations.find(id)
  if (found === undefined) {
    throw new EvrouteError({
      code: 'invalid_usage',
      message: `There is no regulation "${plainText(id)}"`,
      hint: 'See `evroute regulations list` for the ids.',
    })
  }
  const { record, fields, userIds: users } = found
  const text = (): string => regulationText({ fields, users, style, columns, nowMs })
  await writeData(io, json ? recordLine(record) : text())
  return exitCodes.ok
}
