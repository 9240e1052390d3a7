/** Files and standard input to rows, whatever the format and the size. */
export { inflate } from './inflate.ts'
export { openInput } from './open-input.ts'
export { readRows } from './read-rows.ts'
export { parseRow, type Row } from './row.ts'
