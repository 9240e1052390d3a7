import { expect, test } from 'vitest'
import { databaseTitle } from '../../../src/store/postgres/database.ts'

test('a database is named by its address, without the user', () => {
  const title = databaseTitle('postgres://me:swordfish@db.example.com:6543/events')
  expect(title).toBe('the PostgreSQL database events on db.example.com:6543')
})

test('a missing file in the URL is reported as the reason for an unusable store', () => {
  const url = 'postgres://me:swordfish@host/events?sslmode=verify-full&sslrootcert=/missing.pem'
  const failure = {
    code: 'store_unusable',
    message: expect.stringMatching(/^(?!.*swordfish).*me@host\/events.*missing\.pem/) as string,
    hint: expect.stringContaining('sslrootcert') as string,
  }
  expect(() => databaseTitle(url)).toThrow(expect.objectContaining(failure))
})
