/**
 * The rule that a column has one of some values. It is no list, because SQLite builds a tree of a list
 * for every row, and an insert takes 1.5 times as long.
 */
export function oneOf(column: string, ...values: readonly string[]): string {
  return values.map((value) => `${column} = '${value}'`).join(' OR ')
}
