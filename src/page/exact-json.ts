/** Matches the strings and numbers in JSON. A colon after a string means that it is a key. */
const token = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|-?\d[\d.eE+-]*/gs

/** Explains how a JSON text differs from its parsed value; empty if it does not. */
export function inexactText(text: string, value: unknown): string {
  let keys = 0
  let isRounded = false
  for (const [number, string, colon] of text.matchAll(token)) {
    if (colon !== undefined) keys++
    if (string === undefined && JSON.stringify(Number(number)) !== number) isRounded = true
  }
  const losses = [
    ...(isRounded ? ['some numbers are written differently'] : []),
    ...(keys > keysOf(value) ? ['a key occurs twice'] : []),
  ]
  return losses.length === 0 ? '' : `In the bytes below, ${losses.join(' and ')}.`
}

function keysOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const members: readonly unknown[] = Object.values(value)
  const inMembers = members.reduce<number>((sum, member) => sum + keysOf(member), 0)
  return inMembers + (Array.isArray(value) ? 0 : members.length)
}
