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

/** A column of the table. */
export type ColumnName = (typeof columnNames)[number]

/** How wide each column is; zero for one that is left out. */
export type ColumnWidths = Readonly<Record<ColumnName, number>>

/** Characters between two columns. */
export const gapWidth = 2

/**
 * What gives way where there is no room, in this order: a column gets narrower, down to a width, or is
 * left out. The id stays longest: it is what other commands ask for.
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

/** What gets room back that was taken for nothing, the most important first. */
const regrowing: readonly ColumnName[] = ['id', 'outlook', 'user', 'message']

/** Makes columns as wide as they want to be fit into so many characters. */
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
