/**
 * Writes a record as one line of NDJSON with the version of the record format first. U+2028 and
 * U+2029 are escaped, because some readers take them for the end of a line.
 */
export function recordLine(record: Readonly<Record<string, unknown>>): string {
  const json = JSON.stringify({ v: 1, ...record })
  return `${json.replace(/[\u2028\u2029]/g, (separator) => (separator === '\u2028' ? '\\u2028' : '\\u2029'))}\n`
}
