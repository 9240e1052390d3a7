import { Client } from 'pg'
import { PostgresServer } from '../../support/postgres.ts'

/** The value that `initdb` would set; the tests' server has less. All else is the server's default. */
const settings = ['shared_buffers=128MB']

/** A PostgreSQL server with default durability, and a database for each contender. */
export class BenchServer {
  readonly #server: PostgresServer
  readonly #admin: Client

  private constructor(server: PostgresServer, admin: Client) {
    this.#server = server
    this.#admin = admin
  }

  /** Starts a server in its own folder, with some additional settings. */
  static async start(more: readonly string[] = []): Promise<BenchServer> {
    const server = await PostgresServer.start([...settings, ...more])
    const admin = new Client({ connectionString: server.url() })
    // A lost connection makes the next statement fail.
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
   * Creates a database.
   *
   * @returns its URL
   */
  async newDatabase(name: string): Promise<string> {
    await this.#admin.query(`CREATE DATABASE ${name}`)
    return this.#server.url({ database: name })
  }

  /** Writes a checkpoint, so that the next measurement doesn't pay for earlier work. */
  async settle(): Promise<void> {
    await this.#admin.query('CHECKPOINT')
  }

  /** Its version and durability settings. */
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

  /** Ends it and deletes its folder. */
  async end(): Promise<void> {
    try {
      await this.#admin.end()
    } finally {
      await this.#server.end()
    }
  }
}
