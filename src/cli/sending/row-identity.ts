import { createHash } from 'node:crypto'
import type { Row } from '../../importer/index.ts'

/** Where a row stands in all that is read. */
export interface RowPosition {
  /** The file, the same however it is named. */
  readonly file: string
  /** The row's place among the rows of the file, from 0: several may stand on one line. */
  readonly index: number
}

/**
 * Gives a row without a messageId one that follows from its place and what it says, so that the same row of
 * the same file is the same event whenever it is read.
 */
export function identifyRow(row: Row, { file, index }: RowPosition): Row {
  if (row.kind === 'bad') return row
  const { messageId } = row.value
  if (messageId !== undefined && messageId !== null && messageId !== '') return row
  const hash = createHash('sha256')
    .update(`${file}\n${index}\n${JSON.stringify(row.value)}`)
    .digest('hex')
  return { ...row, value: { ...row.value, messageId: `row-${hash.slice(0, 32)}` } }
}
