import { Client } from 'pg'

/** Where a database is, for people and for files: its name, host and port, and nothing of the user. */
export function placeName(url: string): string {
  // It never connects; what it makes of the URL and the environment is what a connection would.
  const { database = '', host, port } = new Client({ connectionString: url })
  return `the PostgreSQL database ${database} on ${host}:${port}`
}
