import { shortText, type JsonValue, type Rejection } from '../model/index.ts'

/** The identifiers in a field, or why the field cannot be used. */
export type Identifiers =
  | { readonly kind: 'identifiers'; readonly identifiers: readonly string[] }
  | ({ readonly kind: 'rejected' } & Rejection)

/**
 * Reads a field with an identifier or a list of identifiers, which may be numbers. Skips null and empty strings, and
 * blank cells of CSV.
 */
export function readIdentifiers(
  value: JsonValue | undefined,
  field: { readonly name: string; readonly isCell: boolean },
): Identifiers {
  const { name, isCell } = field
  const identifiers: string[] = []
  for (const part of Array.isArray(value) ? (value as readonly JsonValue[]) : [value]) {
    const found = identifierOf(isCell && typeof part === 'string' ? part.trim() : part)
    if (found.kind === 'unusable') {
      const { code, problem } = found
      return { kind: 'rejected', code, message: `${shortText(name)} ${problem}` }
    }
    if (found.text !== '') identifiers.push(found.text)
  }
  return { kind: 'identifiers', identifiers }
}

type Identifier =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'unusable'; readonly code: Rejection['code']; readonly problem: string }

function identifierOf(value: JsonValue | undefined): Identifier {
  if (value === undefined || value === null) return { kind: 'text', text: '' }
  if (typeof value !== 'string' && typeof value !== 'number') {
    return { kind: 'unusable', code: 'wrong_type', problem: 'must be a string' }
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    const problem = 'must be a string, because JSON rounds whole numbers above 2^53'
    return { kind: 'unusable', code: 'wrong_type', problem }
  }
  return { kind: 'text', text: String(value) }
}
