import { Client } from 'pg'
import { PostgresServer } from '../../support/postgres.ts'

/** What `initdb` would have set where the tests' server has less; all else is the server's default. */
const settings = ['shared_buffers=128MB']

/** A PostgreSQL as it comes, which waits for its disk, with a database for each thing that is measured. */
export class BenchServer {
  readonly #server: PostgresServer
  readonly #admin: Client

  private constructor(server: PostgresServer, admin: Client) {
    this.#server = server
    this.#admin = admin
  }

  /** Starts one in a folder of its own, with more settings where they are needed. */
  static async start(more: readonly string[] = []): Promise<BenchServer> {
    const server = await PostgresServer.start([...settings, ...more])
    const admin = new Client({ connectionString: server.url() })
    // A connection that is lost shows it with the next statement.
    admin.on('error', () => undefined)
    try {
      await admin.connect()
      return new BenchServer(server, admin)
    } catch (error) {
      await server.end()
      throw error
    }
  }

  /**
   * Makes a database.
   *
   * @returns its URL
   */
  async newDatabase(name: string): Promise<string> {
    await this.#admin.query(`CREATE DATABASE ${name}`)
    return this.#server.url({ database: name })
  }

  /** Writes out what it has in memory, so that nobody pays for what was done before. */
  async settle(): Promise<void> {
    await this.#admin.query('CHECKPOINT')
  }

  /** Its version, and how it keeps what it is given. */
  async description(): Promise<string> {
    const { rows } = await this.#admin.query<{ name: string; setting: string }>(
      `SELECT name, setting FROM pg_settings
       WHERE name IN ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes')`,
    )
    const { server_version: version = '', ...durable } = Object.fromEntries(
      rows.map(({ name, setting }) => [name, setting]),
    )
    const durability = Object.entries(durable).map(([name, setting]) => `${name} ${setting}`)
    return `PostgreSQL ${version} (${durability.join(', ')})`
  }

  /** Ends it, and takes its folder away. */
  async end(): Promise<void> {
    try {
      await this.#admin.end()
    } finally {
      await this.#server.end()
    }
  }
}
