import { expect } from 'vitest'
import type { Reading } from '../../src/admin-api/read-fields.ts'

/** The message of the error that an invalid request throws. */
export function refusalOf(reading: Reading<unknown>): string {
  if (reading.kind === 'read') return 'read'
  expect(reading.refusal).toMatchObject({ status: 400, code: 'invalid_request' })
  return reading.refusal.message
}
