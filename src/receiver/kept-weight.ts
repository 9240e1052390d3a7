import type { JsonValue } from '../model/index.ts'
import type { ReceivedEvent } from './received-event.ts'

/**
 * Minimum weight of a value in a body. A parsed value takes about 64 bytes, even if it is shorter in JSON. With this
 * weight, parsed bodies take at most four times the memory limit for bodies.
 */
const valueBytes = 16

/** Returns the bytes of an event that count against the memory limit: its body, and the answer of its target. */
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

/** Counts a value and all values in it. The recursion is safe, because received bodies are not nested deeply. */
function countValues(value: JsonValue | undefined): number {
  if (typeof value !== 'object' || value === null) return 1
  let count = 1
  for (const inner of Object.values(value)) count += countValues(inner)
  return count
}
