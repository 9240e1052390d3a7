import { appendFile, mkdir, stat, truncate } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  formatTimestamp,
  systemCode,
  type AnalyticsEvent,
  type JsonObject,
} from '../model/index.ts'
import { stoppable } from '../runtime/index.ts'
import { archiveFolder, cannotWrite } from './archive-files.ts'
import { archivedRow } from './archived-row.ts'
import {
  Erasure,
  type ArchiveErasureRequest,
  type ErasedFromArchive,
} from './erase-from-archive.ts'

const compress = promisify(gzip)

/** Appends bytes to a file. Creates the file if it does not exist. */
export type Append = (path: string, bytes: Buffer) => Promise<void>

/** Waits for the disk too, or a power failure would lose calls that were answered. */
const appendPrivately: Append = (path, bytes) =>
  appendFile(path, bytes, { mode: 0o600, flush: true })

interface Waiting {
  readonly events: readonly AnalyticsEvent[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

interface FilePart {
  rows: string
  readonly waiting: Set<Waiting>
}

/** More would only need more file descriptors: Node has four threads for files. */
const filesAtOnceMax = 16

interface Erasing extends ArchiveErasureRequest {
  /** Number of new events that were not written, because they match this erasure. */
  keptBack: number
}

/**
 * Writes every accepted event to files: gzipped NDJSON in `<directory>/<source>/<day>/`, one file per source, day and
 * run of the service. After an erasure has changed the current file, the run continues in a new one.
 *
 * A run never appends to files of earlier runs. A crash may have left half-written data there, which hides later rows.
 */
export class Archive {
  readonly #directory: string
  readonly #runName: string
  readonly #append: Append
  readonly #waiting = new Set<Waiting>()
  /** Sizes of files, by path, before a write that failed or is in progress. */
  readonly #unfinished = new Map<string, number>()
  readonly #erasing = new Set<Erasing>()
  readonly #tasks: (() => Promise<void>)[] = []
  #isWriting = false
  #closedFiles = 0

  /** @param startedAtMs - when this run started; begins file names, so that runs don't share files */
  constructor(directory: string, startedAtMs: number, append: Append = appendPrivately) {
    this.#directory = directory
    this.#runName = formatTimestamp(startedAtMs).replaceAll(/[:.]/g, '-')
    this.#append = append
  }

  /** Writes events after all earlier ones. Rejects on abort, and drops the events if their write has not begun. */
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

  /**
   * Erases events of a source from all of its files. Meanwhile, new events are written unless they match. Run one
   * erasure at a time. Throws the signal's reason after an abort.
   */
  async erase(request: ArchiveErasureRequest): Promise<ErasedFromArchive> {
    const { signal } = request
    const erasing: Erasing = { ...request, keptBack: 0 }
    this.#erasing.add(erasing)
    try {
      // Wait for the write in progress, which may contain events to erase.
      await this.#betweenWrites(() => Promise.resolve(), signal)
      const erasure = new Erasure({
        ...request,
        directory: this.#directory,
        writer: {
          isOpen: (name) => name === this.#fileName(),
          closeFile: () => this.#betweenWrites(() => this.#closeFile(), signal),
          betweenWrites: (task) => this.#betweenWrites(task, signal),
        },
      })
      const erased = await erasure.run()
      return { ...erased, events: erased.events + erasing.keptBack }
    } finally {
      this.#erasing.delete(erasing)
    }
  }

  async #betweenWrites(task: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const done = new Promise<void>((resolve, reject) => {
      this.#tasks.push(() => task().then(resolve, reject))
    })
    void this.#writeAll()
    // An abort ends the wait even if the disk hangs.
    await stoppable(done, signal)
    signal.throwIfAborted()
  }

  async #closeFile(): Promise<void> {
    // A half-written part that can't be removed stays at the end of the file, as after a crash.
    for (const path of this.#unfinished.keys()) await this.#repair(path).catch(() => undefined)
    this.#unfinished.clear()
    this.#closedFiles++
  }

  async #writeAll(): Promise<void> {
    if (this.#isWriting) return
    this.#isWriting = true
    while (this.#waiting.size > 0 || this.#tasks.length > 0) {
      for (const task of this.#tasks.splice(0)) await task()
      const group = [...this.#waiting]
      this.#waiting.clear()
      try {
        const files = [...this.#files(group)]
        while (files.length > 0) {
          const some = files.splice(0, filesAtOnceMax)
          await Promise.all(some.map(([path, part]) => this.#writePart(path, part)))
        }
        // Parts that failed are already rejected, so resolving them changes nothing.
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#isWriting = false
  }

  async #writePart(path: string, { rows, waiting }: FilePart): Promise<void> {
    try {
      await this.#write(path, rows)
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }

  /** Appends all rows to a file or none, because gzip readers find nothing after a half-written part. */
  async #write(path: string, rows: string): Promise<void> {
    try {
      await this.#repair(path)
      const bytes = await compress(rows)
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      this.#unfinished.set(path, await sizeBytesOf(path))
      await this.#append(path, bytes)
      this.#unfinished.delete(path)
    } catch (error) {
      // If this fails too, the next write repairs the file first.
      await this.#repair(path).catch(() => undefined)
      throw cannotWrite(path, error)
    }
  }

  /** Removes the half-written part that a failed write left at the end of a file. */
  async #repair(path: string): Promise<void> {
    const wholeBytes = this.#unfinished.get(path)
    if (wholeBytes === undefined) return
    if ((await sizeBytesOf(path)) > wholeBytes) await truncate(path, wholeBytes)
    this.#unfinished.delete(path)
  }

  #files(group: readonly Waiting[]): ReadonlyMap<string, FilePart> {
    const files = new Map<string, FilePart>()
    for (const waiting of group) {
      for (const event of waiting.events) {
        const row = archivedRow(event)
        if (this.#isKeptBack(event, row)) continue
        const path = this.#pathOf(event)
        const part = files.get(path) ?? { rows: '', waiting: new Set() }
        files.set(path, part)
        part.rows += `${row}\n`
        part.waiting.add(waiting)
      }
    }
    return files
  }

  #isKeptBack({ sourceId }: AnalyticsEvent, row: string): boolean {
    for (const erasing of this.#erasing) {
      if (erasing.sourceId !== sourceId) continue
      if (!erasing.isErased(JSON.parse(row) as JsonObject)) continue
      erasing.keptBack++
      return true
    }
    return false
  }

  #pathOf({ sourceId, receivedAtMs }: AnalyticsEvent): string {
    const day = formatTimestamp(receivedAtMs).slice(0, 10)
    return join(archiveFolder(this.#directory, sourceId), day, this.#fileName())
  }

  /** Returns the name of the current file. A run's file names sort by time. */
  #fileName(): string {
    const part = this.#closedFiles === 0 ? '' : `_${String(this.#closedFiles).padStart(4, '0')}`
    return `${this.#runName}${part}.ndjson.gz`
  }
}

/** Returns the size of a file, or 0 if it does not exist. Throws if it is not a file, because writes would be lost. */
async function sizeBytesOf(path: string): Promise<number> {
  try {
    const found = await stat(path)
    if (found.isFile()) return found.size
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 0
    throw error
  }
  throw new Error('it is not a file')
}
