import { Client } from 'pg'
import { readableUrl } from './connection-url.ts'
import { storeError } from './store-error.ts'

/**
 * The place of a database for messages and for file names: its name, host and port, without the user.
 */
export function placeName(url: string): string {
  const { database = '', host, port } = clientOf(url)
  return `the PostgreSQL database ${database} on ${host}:${port}`
}

/**
 * A client that never connects. It resolves the URL and the environment in the same way as a
 * connection.
 */
function clientOf(url: string): Client {
  try {
    return new Client({ connectionString: url })
  } catch (error) {
    throw storeError(readableUrl(url), error)
  }
}
