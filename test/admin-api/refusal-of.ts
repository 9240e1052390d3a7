import { expect } from 'vitest'
import type { Reading } from '../../src/admin-api/read-fields.ts'

/** The message of the error that an invalid request throws. */
export function refusalOf(reading: Reading<unknown>): string {
  if (reading.kind === 'read') return 'read'
  const { status, error } = reading.refusal
  expect([status, error.code]).toEqual([400, 'invalid_request'])
  return error.message
}
