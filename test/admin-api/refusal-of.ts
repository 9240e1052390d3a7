import { expect } from 'vitest'
import type { Reading } from '../../src/admin-api/read-fields.ts'

/** Why a request is invalid. */
export function refusalOf(reading: Reading<unknown>): string {
  if (reading.kind === 'read') return 'read'
  expect(reading.refusal).toMatchObject({ status: 400, code: 'invalid_request' })
  return reading.refusal.message
}
