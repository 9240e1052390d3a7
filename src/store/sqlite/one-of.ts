/**
 * The rule that a column has one of some values. Not as a list: SQLite looks for every row in a tree that
 * it makes of one, and an insert takes half as long again.
 */
export function oneOf(column: string, ...values: readonly string[]): string {
  return values.map((value) => `${column} = '${value}'`).join(' OR ')
}
