/** Reads files and standard input as rows, in several formats and any size. */
export { inflate } from './inflate.ts'
export { openInput } from './open-input.ts'
export { readRows } from './read-rows.ts'
export { readTable } from './read-table.ts'
export { parseRow, type Row } from './row.ts'
export type { BadTableRow, TableRow } from './table-row.ts'
