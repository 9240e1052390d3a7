import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const program = 'redis-server'
const pollEveryMs = 20

/** As BullMQ's documentation advises for production. Accepted jobs are on disk within a second. */
const settings = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '']

/** A Redis server for the benchmark, with its own temporary folder. */
export class RedisServer {
  /** Its version and durability. */
  readonly description: string
  readonly #folder: string
  readonly #process: ChildProcess

  private constructor(parts: { version: string; folder: string; process: ChildProcess }) {
    this.description = `Redis ${parts.version} (appendfsync everysec)`
    this.#folder = parts.folder
    this.#process = parts.process
  }

  /** Starts a server; undefined if `redis-server` is not on the PATH. */
  static async start(): Promise<RedisServer | undefined> {
    const version = await installedVersion()
    if (version === undefined) return undefined
    const folder = await mkdtemp(join(tmpdir(), 'evroute-redis-'))
    const location = ['--dir', folder, '--port', '0', '--unixsocket', socketIn(folder)]
    const process = spawn(program, [...location, ...settings], { stdio: 'ignore' })
    const server = new RedisServer({ version, folder, process })
    while (!(await exists(server.socket))) {
      if (process.exitCode !== null) throw new Error(`${program} has ended`)
      await sleep(pollEveryMs)
    }
    return server
  }

  /** The path of its socket. */
  get socket(): string {
    return socketIn(this.#folder)
  }

  /** Ends it and deletes its folder. */
  async end(): Promise<void> {
    if (this.#process.exitCode === null) {
      const exited = once(this.#process, 'exit')
      this.#process.kill()
      await exited
    }
    await rm(this.#folder, { recursive: true })
  }
}

function socketIn(folder: string): string {
  return join(folder, 'redis.sock')
}

async function installedVersion(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'])
    return /v=(\S+)/.exec(stdout)?.[1] ?? 'unknown'
  } catch {
    return undefined
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
