import { shortText } from '../../model/index.ts'
import type { ReceivedEvent } from '../../receiver/index.ts'
import { jsonLineCount, jsonLines } from '../output/json.ts'
import { countOf } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'

/** Lines of a payload that are shown by default. */
const linesMaxDefault = 200
/** Characters shown of a key, of a value, or of a payload that is not JSON. */
const charactersMax = 2_000

/** A payload for a person: indented, coloured, safe to print, and limited in length. */
export function payloadText(
  { body, rawBody }: Pick<ReceivedEvent, 'body' | 'rawBody'>,
  style: Style,
  linesMax: number = linesMaxDefault,
): string {
  if (body === null) return shortText(rawBody.toString('utf8'), charactersMax)
  const lines: string[] = []
  for (const line of jsonLines(body, { style, charactersMax })) {
    if (lines.length === linesMax) break
    lines.push(line)
  }
  const left = jsonLineCount(body) - lines.length
  if (left > 0) lines.push(style.faint(`… and ${countOf(left, 'more line')}`))
  return lines.join('\n')
}
