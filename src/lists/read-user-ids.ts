import { readTable, type BadRow, type TableRow } from '../importer/index.ts'
import { UserIdFields } from './user-id-fields.ts'

type UserIdRow =
  { readonly kind: 'ids'; readonly line: number; readonly userIds: readonly string[] } | BadRow

/**
 * Reads a list of users, a group of rows at a time, in any format that {@link readTable} reads.
 *
 * @param columns - the columns with userIds; if empty, the first of `userId`, `user_id` and `id`
 * @throws EvrouteError `cannot_read_file`; SettingError if a column is missing: for JSON, only at the end of the list
 */
export async function* readUserIds(
  input: AsyncIterable<Uint8Array>,
  columns: readonly string[] = [],
): AsyncGenerator<readonly UserIdRow[]> {
  const fields = new UserIdFields(columns)
  for await (const group of readTable(input, 'Check the program that writes the list.')) {
    const rows: UserIdRow[] = []
    for (const row of group) {
      if (row.kind === 'header') fields.readHeader(row.columns)
      else rows.push(userIdRow(row, fields))
    }
    if (rows.length > 0) yield rows
  }
  fields.readEnd()
}

function userIdRow(row: Exclude<TableRow, { kind: 'header' }>, fields: UserIdFields): UserIdRow {
  if (row.kind === 'bad') return row
  const { line } = row
  const found = fields.read(row.value)
  if (found.kind === 'rejected') {
    return { kind: 'bad', line, code: found.code, message: found.message }
  }
  if (found.identifiers.length > 0) return { kind: 'ids', line, userIds: found.identifiers }
  return { kind: 'bad', line, code: 'no_user_id', message: 'The row has no user id' }
}
