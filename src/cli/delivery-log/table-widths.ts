/** The columns of the table, from left to right. */
export const columnNames = [
  'id',
  'state',
  'type',
  'user',
  'message',
  'tries',
  'accepted',
  'outlook',
] as const

/** The name of a column. */
export type ColumnName = (typeof columnNames)[number]

/** The width of each column; 0 if the column is left out. */
export type ColumnWidths = Readonly<Record<ColumnName, number>>

/** Spaces between two columns. */
export const gapWidth = 2

/**
 * If the table is too wide, columns shrink to these widths or are dropped, in this order. The id goes last:
 * other commands need it.
 */
const concessions: readonly (readonly [ColumnName, number])[] = [
  ['message', 12],
  ['user', 10],
  ['outlook', 20],
  ['message', 0],
  ['outlook', 11],
  ['id', 32],
  ['user', 8],
  ['type', 0],
  ['user', 0],
  ['tries', 0],
  ['id', 12],
  ['accepted', 0],
  ['outlook', 6],
  ['id', 6],
]

/** After a column was dropped, these columns get the spare room back, the most important first. */
const regrowing: readonly ColumnName[] = ['id', 'outlook', 'user', 'message']

/** Fits the wanted widths into the given total width. */
export function fitWidths(wanted: ColumnWidths, columnsMax: number): ColumnWidths {
  const widths = { ...wanted }
  for (const [name, width] of concessions) {
    const excess = totalWidth(widths) - columnsMax
    if (excess <= 0) break
    if (width === 0) widths[name] = 0
    else widths[name] = Math.min(widths[name], Math.max(width, widths[name] - excess))
  }
  for (const name of regrowing) {
    const room = Math.max(columnsMax - totalWidth(widths), 0)
    if (widths[name] > 0) widths[name] = Math.min(wanted[name], widths[name] + room)
  }
  return widths
}

function totalWidth(widths: ColumnWidths): number {
  const shown = columnNames.map((name) => widths[name]).filter((width) => width > 0)
  return shown.reduce((sum, width) => sum + width, 0) + gapWidth * (shown.length - 1)
}
