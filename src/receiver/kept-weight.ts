import type { JsonValue } from '../model/index.ts'
import type { ReceivedEvent } from './received-event.ts'

/**
 * The least weight of a value in a body. Parsed, a value takes about 64 bytes, however few it has on the
 * wire. With this weight, parsed bodies take at most four times the memory that bodies may have.
 */
const valueBytes = 16

/** How much of the memory for bodies an event takes up, in bytes: its body, and the answer of its target. */
export function keptWeight({
  bytes,
  body,
  forward,
}: Pick<ReceivedEvent, 'bytes' | 'body' | 'forward'>): number {
  return Math.max(bytes, countValues(body) * valueBytes) + answerWeight(forward)
}

function answerWeight(forward: ReceivedEvent['forward']): number {
  if (forward === null) return 0
  const headers = Object.entries(forward.headers)
  return headers.reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    forward.answer.length,
  )
}

/** Counts a value and all values in it. A received body is not nested deeply. */
function countValues(value: JsonValue | undefined): number {
  if (typeof value !== 'object' || value === null) return 1
  let count = 1
  for (const inner of Object.values(value)) count += countValues(inner)
  return count
}
