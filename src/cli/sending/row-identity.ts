import { createHash } from 'node:crypto'
import type { Row } from '../../importer/index.ts'

/** The position of a row in the input. */
export interface RowPosition {
  /** The absolute path of the file. */
  readonly file: string
  /** The index of the row in its file, from 0: several rows may be on one line. */
  readonly index: number
}

/**
 * Gives a row without a messageId an id derived from its position and content. The same row of the same file
 * is then the same event each time it is read.
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
