import { expect, test } from 'vitest'
import { placeName } from '../../../src/store/postgres/place-name.ts'

test('a database is named by where it is, and not by who uses it', () => {
  const place = placeName('postgres://me:swordfish@db.example.com:6543/events')
  expect(place).toBe('the PostgreSQL database events on db.example.com:6543')
})

test('a file that the URL names and that is missing is told as what makes the store unusable', () => {
  const url = 'postgres://me:swordfish@host/events?sslmode=verify-full&sslrootcert=/missing.pem'
  const failure = {
    code: 'store_unusable',
    message: expect.stringMatching(/^(?!.*swordfish).*me@host\/events.*missing\.pem/) as string,
    hint: expect.stringContaining('sslrootcert') as string,
  }
  expect(() => placeName(url)).toThrow(expect.objectContaining(failure))
})
