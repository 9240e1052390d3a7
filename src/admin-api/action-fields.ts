import type { LogFields } from '../runtime/index.ts'
import type { ApiRecord } from './operation.ts'

/**
 * What the log says of an action: every number of its record, and what became of it. Lists are counted, so that
 * no user stands in the log.
 */
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
