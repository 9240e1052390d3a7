/** Files and standard input to rows, whatever the format and the size. */
export { openInput, stdinPath } from './open-input.ts'
export { readRows } from './read-rows.ts'
export type { BadRow, GoodRow, Row } from './row.ts'
