import { checkCases } from '../../handler-check/index.ts'
import { recordLine, type EventType } from '../../model/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData, type Io } from '../io.ts'
import { caseIdColumns } from './check-text.ts'

/** Which cases to list, and how. */
export interface CaseList {
  readonly types: readonly EventType[] | undefined
  readonly only: readonly string[] | undefined
  readonly json: boolean
}

/**
 * Lists the cases of a check.
 *
 * @throws SettingError for an unknown case
 */
export async function listCases({ json, ...wanted }: CaseList, io: Io): Promise<ExitCode> {
  const cases = checkCases({ ...wanted, secret: 'not used', id: 'list', nowMs: 0 })
  const lines = cases.map(({ id, expected, type, about }) =>
    json
      ? recordLine({ kind: 'case', case: id, type, expected, about })
      : `${id.padEnd(caseIdColumns)}  ${expected.padEnd(7)}  ${about}\n`,
  )
  await writeData(io, lines.join(''))
  return exitCodes.ok
}
