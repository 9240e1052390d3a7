import { checkParsedCall } from '../../intake/index.ts'
import type { EventFilter } from '../../match/index.ts'
import { isJsonObject, type JsonObject, type Rejection } from '../../model/index.ts'
import { isCapturedRow, readCapturedRequest } from './captured-request.ts'
import { readDeletion } from './outlet.ts'

/** The effect of `--only` on a row. Rows that it excludes are checked like the others. */
export type OnlyOutcome =
  | { readonly kind: 'fits' }
  | { readonly kind: 'filtered'; readonly call: JsonObject; readonly whyNot: string }
  | ({ readonly kind: 'rejected' } & Rejection)

/** Decides whether `--only` includes a row: a call, a deletion or a captured webhook. */
export function applyOnly(only: EventFilter | undefined, row: JsonObject): OnlyOutcome {
  if (only === undefined) return { kind: 'fits' }
  const isCaptured = isCapturedRow(row)
  const call = isCaptured && isJsonObject(row['body']) ? row['body'] : row
  if (only.takes(call)) return { kind: 'fits' }
  const rejection = isCaptured ? capturedRejection(row) : callRejection(row)
  return rejection ?? { kind: 'filtered', call, whyNot: only.whyNot(call) }
}

function capturedRejection(row: JsonObject): OnlyOutcome | undefined {
  const reading = readCapturedRequest(row)
  return reading.kind === 'rejected' ? reading : undefined
}

function callRejection(row: JsonObject): OnlyOutcome | undefined {
  if (row['type'] === 'delete') {
    const deletion = readDeletion(row)
    return deletion.kind === 'rejected' ? deletion : undefined
  }
  const check = checkParsedCall(row)
  return check.kind === 'invalid' ? { ...check, kind: 'rejected' } : undefined
}
