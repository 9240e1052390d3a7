import { appendFile, mkdir, stat, truncate } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  EvrouteError,
  formatTimestamp,
  messageOf,
  systemCode,
  type AnalyticsEvent,
} from '../model/index.ts'
import { archivedRow } from './archived-row.ts'

const compress = promisify(gzip)

/** Adds bytes to the end of a file, and makes the file where there is none. */
export type Append = (path: string, bytes: Buffer) => Promise<void>

/** Events whose writing somebody waits for. */
interface Waiting {
  readonly events: readonly AnalyticsEvent[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Keeps every accepted event of a source in files: gzipped NDJSON, one per source, day and run of the
 * service, in `<directory>/<source>/<day>/`. A run never writes on in the file of another, so that what
 * a crash left half written is always at the end of a file, where readers lose nothing else by it.
 */
export class Archive {
  readonly #directory: string
  readonly #runName: string
  readonly #append: Append
  readonly #waiting = new Set<Waiting>()
  /** Files whose last write failed, and the bytes that they had before it. */
  readonly #unfinished = new Map<string, number>()
  #isWriting = false

  /**
   * @param startedAtMs - tells this run's files from those of others, in milliseconds since 1970
   * @param append - how files are written
   */
  constructor(directory: string, startedAtMs: number, append: Append = appendFile) {
    this.#directory = directory
    this.#runName = formatTimestamp(startedAtMs).replaceAll(/[:.]/g, '-')
    this.#append = append
  }

  /**
   * Writes events behind those before them; what arrives while others are written goes with the next
   * write.
   *
   * @param signal - ends the wait, with its reason: what is being written then may be written or not,
   * and what is not is forgotten
   * @throws EvrouteError `cannot_write_file`
   */
  async append(events: readonly AnalyticsEvent[], signal?: AbortSignal): Promise<void> {
    if (events.length === 0) return
    await new Promise<void>((resolve, reject) => {
      const waiting = { events, resolve, reject }
      this.#waiting.add(waiting)
      const giveUp = (): void => {
        this.#waiting.delete(waiting)
        reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      void this.#writeAll()
    })
  }

  async #writeAll(): Promise<void> {
    if (this.#isWriting) return
    this.#isWriting = true
    while (this.#waiting.size > 0) {
      const group = [...this.#waiting]
      this.#waiting.clear()
      try {
        const files = this.#files(group.flatMap(({ events }) => events))
        for (const [path, rows] of files) await this.#write(path, rows)
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#isWriting = false
  }

  /**
   * Writes rows at the end of a file, all of them or none: readers of gzip find nothing behind what is
   * half written.
   */
  async #write(path: string, rows: string): Promise<void> {
    try {
      await this.#repair(path)
      const bytes = await compress(rows)
      await mkdir(dirname(path), { recursive: true })
      this.#unfinished.set(path, await sizeBytesOf(path))
      await this.#append(path, bytes)
      this.#unfinished.delete(path)
    } catch (error) {
      // Where this fails too, the next write tries again before it writes.
      await this.#repair(path).catch(() => undefined)
      throw cannotWrite(path, error)
    }
  }

  /** Takes away what a write that failed has left in a file. */
  async #repair(path: string): Promise<void> {
    const wholeBytes = this.#unfinished.get(path)
    if (wholeBytes === undefined) return
    if ((await sizeBytesOf(path)) > wholeBytes) await truncate(path, wholeBytes)
    this.#unfinished.delete(path)
  }

  /** The rows that belong into each file. */
  #files(events: readonly AnalyticsEvent[]): ReadonlyMap<string, string> {
    const files = new Map<string, string>()
    for (const event of events) {
      const path = this.#pathOf(event)
      files.set(path, `${files.get(path) ?? ''}${archivedRow(event)}\n`)
    }
    return files
  }

  #pathOf({ sourceId, receivedAtMs }: AnalyticsEvent): string {
    const day = formatTimestamp(receivedAtMs).slice(0, 10)
    return join(archiveFolder(this.#directory, sourceId), day, `${this.#runName}.ndjson.gz`)
  }
}

/** Where the events of a source are. Its id is no path, whatever it is made of. */
export function archiveFolder(directory: string, sourceId: string): string {
  return join(directory, encodeURIComponent(sourceId).replaceAll('.', '%2E'))
}

/** The bytes of a file, 0 where there is none; whatever else is there would be written in vain. */
async function sizeBytesOf(path: string): Promise<number> {
  try {
    const found = await stat(path)
    if (found.isFile()) return found.size
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 0
    throw error
  }
  throw new Error('there is something else than a file')
}

function cannotWrite(path: string, cause: unknown): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: `Cannot write the archive ${path}: ${messageOf(cause)}`,
    hint: 'Check the folder and the room on its disk.',
    cause,
  })
}
