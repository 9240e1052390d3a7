/** Marks the escape of a character that cannot be stored. */
const escapeMark = '\u001a'

/**
 * The characters to escape: NUL, which no engine stores in a text; lone surrogates, which UTF-8 cannot encode;
 * and {@link escapeMark} itself.
 */
const unstorable =
  /[\0\u001a]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** Escapes a text so that every engine can store it. Different texts stay different. */
export function toStored(text: string): string {
  if (isStorable(text)) return text
  return text.replace(unstorable, (unit) => {
    return escapeMark + unit.charCodeAt(0).toString(16).padStart(4, '0')
  })
}

/**
 * Tells whether a text needs no escapes, like almost every text. Checking takes a tenth of the time that
 * replacing takes.
 */
function isStorable(text: string): boolean {
  return !text.includes('\0') && !text.includes(escapeMark) && text.isWellFormed()
}

/** Reverses {@link toStored}. */
export function fromStored(stored: string): string {
  if (!stored.includes(escapeMark)) return stored
  return stored.replace(/\u001a(.{4})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
}

/** Like {@link toStored}, for a text that may be missing. */
export function toStoredOrNull(text: string | null): string | null {
  return text === null ? null : toStored(text)
}

/** Like {@link fromStored}, for a text that may be missing. */
export function fromStoredOrNull(stored: string | null): string | null {
  return stored === null ? null : fromStored(stored)
}

/** Like {@link fromStored}, for all texts of a row. */
export function fromStoredRow<Row extends object>(row: Row): Row {
  const cells = Object.entries(row).map(([name, value]: [string, unknown]) => {
    return [name, typeof value === 'string' ? fromStored(value) : value]
  })
  return Object.fromEntries(cells) as Row
}
