import { Client } from 'pg'
import { readableUrl } from './connection-url.ts'
import { storeError } from './store-error.ts'

/**
 * Where a database is, for people and for files: its name, host and port, and nothing of the user.
 *
 * @throws EvrouteError `store_unusable` where a file that the URL names cannot be read
 */
export function placeName(url: string): string {
  const { database = '', host, port } = clientOf(url)
  return `the PostgreSQL database ${database} on ${host}:${port}`
}

/** It never connects; what it makes of the URL and the environment is what a connection would. */
function clientOf(url: string): Client {
  try {
    return new Client({ connectionString: url })
  } catch (error) {
    throw storeError(readableUrl(url), error)
  }
}
