import { type JsonValue, plainText } from '../../model/index.ts'
import type { Style } from './style.ts'

/** A key, a string, or another scalar in indented JSON. */
const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*\b/g

/** JSON for a person: indented, coloured, and safe to print. */
export function formatJson(value: JsonValue, style: Style): string {
  const lines = JSON.stringify(value, null, 2).split('\n')
  return lines.map((line) => indentOf(line) + paint(plainText(line), style)).join('\n')
}

function indentOf(line: string): string {
  return line.slice(0, line.length - line.trimStart().length)
}

function paint(line: string, style: Style): string {
  return line
    .trimStart()
    .replace(token, (match, text: string | undefined, colon: string | undefined) => {
      if (text === undefined) return style.warning(match)
      return colon === undefined ? style.good(match) : `${style.name(text)}${colon}`
    })
}
