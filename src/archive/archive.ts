import { appendFile, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { EvrouteError, formatTimestamp, messageOf, type AnalyticsEvent } from '../model/index.ts'
import { archivedRow } from './archived-row.ts'

const compress = promisify(gzip)

interface Waiter {
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
  #events: AnalyticsEvent[] = []
  #waiters: Waiter[] = []
  #writing: Promise<void> | undefined

  /** @param startedAtMs - tells this run's files from those of others, in milliseconds since 1970 */
  constructor(directory: string, startedAtMs: number) {
    this.#directory = directory
    this.#runName = formatTimestamp(startedAtMs).replaceAll(/[:.]/g, '-')
  }

  /**
   * Writes events behind those before them; what arrives while others are written goes with the next
   * write.
   *
   * @throws EvrouteError `cannot_write_file`
   */
  async append(events: readonly AnalyticsEvent[]): Promise<void> {
    if (events.length === 0) return
    this.#events.push(...events)
    await new Promise<void>((resolve, reject) => {
      this.#waiters.push({ resolve, reject })
      this.#writing ??= this.#writeAll()
    })
  }

  /** Resolves once everything is written, or cannot be. */
  async close(): Promise<void> {
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    while (this.#waiters.length > 0) {
      const [events, waiters] = [this.#events, this.#waiters]
      this.#events = []
      this.#waiters = []
      try {
        for (const [path, rows] of this.#files(events)) await write(path, rows)
        for (const { resolve } of waiters) resolve()
      } catch (error) {
        for (const { reject } of waiters) reject(error)
      }
    }
    this.#writing = undefined
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

async function write(path: string, rows: string): Promise<void> {
  try {
    const bytes = await compress(rows)
    await mkdir(dirname(path), { recursive: true })
    await appendFile(path, bytes)
  } catch (error) {
    throw new EvrouteError({
      code: 'cannot_write_file',
      message: `Cannot write the archive ${path}: ${messageOf(error)}`,
      hint: 'Check the folder and the room on its disk.',
      cause: error,
    })
  }
}
