import { expect } from 'vitest'
import type { AdminApiOptions } from '../../src/admin-api/index.ts'
import { operations } from '../../src/admin-api/operations.ts'
import { readFields } from '../../src/admin-api/read-fields.ts'

/** The value that an operation such as `get /deliveries` reads from a query or a body, or its refusal. */
export function readBy(name: string, input: unknown): ReturnType<typeof readFields> {
  const [method, path] = name.split(' ')
  const all = operations({} as AdminApiOptions)
  const found = all.find((operation) => operation.method === method && operation.path === path)
  return readFields(found!.reads!, input)
}

/** The message with which an operation refuses an invalid query or body. */
export function refusalOf(name: string, input: unknown): string {
  const reading = readBy(name, input)
  if ('value' in reading) return 'read'
  const { status, error } = reading
  expect([status, error.code]).toEqual([400, 'invalid_request'])
  return error.message
}
