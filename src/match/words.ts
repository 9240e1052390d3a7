import type { JsonValue } from '../model/index.ts'
import { signatureWords, type Subject } from './subject.ts'
import { valueHolds, type ValueTest } from './value-test.ts'

/** Whether a text of a request contains a word. An asterisk alone finds any webhook. */
export function wordHolds(test: ValueTest, subject: Subject): boolean {
  if (test.text === '*') return subject.body !== null
  for (const text of textsOf(subject)) if (valueHolds(test, text)) return true
  return false
}

/** The texts that a person may search: those of the body, and those in a list of requests. */
function* textsOf({ body, signature, status, reason, forward }: Subject): Generator<string> {
  // The first keys are the same in all bodies.
  for (const value of Object.values(body ?? {}) as readonly JsonValue[]) yield* textsIn(value)
  if (reason === undefined) return
  if (body === null) yield 'no webhook'
  yield signatureWords[signature]
  yield status === null ? 'no answer' : String(status)
  if (reason !== null) yield reason
  if (forward) yield String(forward.status ?? forward.error)
}

/** The keys and values inside a value. Keeps its own stack, because a body can be nested deeply. */
function* textsIn(start: JsonValue): Generator<string> {
  const left: JsonValue[] = [start]
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value !== 'object') yield String(value)
    else if (value !== null) {
      if (!Array.isArray(value)) yield* Object.keys(value)
      for (const inner of Object.values(value) as readonly JsonValue[]) left.push(inner)
    }
  }
}
