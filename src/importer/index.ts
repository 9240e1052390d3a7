/** Files and standard input to rows, whatever the format and the size. */
export { openInput } from './open-input.ts'
export { readRows } from './read-rows.ts'
export type { Row } from './row.ts'
