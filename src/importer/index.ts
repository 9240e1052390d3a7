/** Reads files and standard input as rows, in several formats and any size. */
export { ForeignFormatError } from './foreign-format.ts'
export { inflate } from './inflate.ts'
export { openInput } from './open-input.ts'
export { readTable } from './read-table.ts'
export { parseRow, type BadRow, type Row, type TableRow } from './row.ts'
export { readRows } from './row-reader.ts'
