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
    const problem = problemOf(part)
    if (problem !== undefined) {
      return { kind: 'rejected', code: 'wrong_type', message: `${shortText(name)} ${problem}` }
    }
    const text = typeof part === 'string' || typeof part === 'number' ? String(part) : ''
    const identifier = isCell ? text.trim() : text
    if (identifier !== '') identifiers.push(identifier)
  }
  return { kind: 'identifiers', identifiers }
}

function problemOf(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string' && typeof value !== 'number') return 'must be a string'
  return Number.isInteger(value) && !Number.isSafeInteger(value)
    ? 'must be a string, because JSON rounds whole numbers above 2^53'
    : undefined
}
