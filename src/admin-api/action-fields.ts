import type { LogFields } from '../runtime/index.ts'
import type { ApiRecord } from './operation.ts'

/** Makes the log fields of an action from its record: its id, its outcome and its numbers. User ids are only counted. */
export function actionFields(record: ApiRecord): LogFields {
  const { id, outcome, dryRun, subjectIds } = record
  const numbers = Object.entries(record).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  )
  return {
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof outcome === 'string' ? { outcome } : {}),
    ...(dryRun === true ? { dryRun } : {}),
    ...(Array.isArray(subjectIds) ? { subjects: subjectIds.length } : {}),
    ...Object.fromEntries(numbers),
  }
}
