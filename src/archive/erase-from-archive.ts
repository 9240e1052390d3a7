import { join } from 'node:path'
import { messageOf, systemCode, type JsonObject } from '../model/index.ts'
import { archiveFolder, isTemporary, namesIn } from './archive-files.ts'
import { receivedAtOf } from './archived-row.ts'
import {
  eraseFromFile,
  syncFolder,
  systemFileChanges,
  type FileChanges,
} from './erase-from-file.ts'

/** The events to erase. */
export interface ArchiveErasureRequest {
  /** The source of the events. */
  readonly sourceId: string
  /** Tells whether to erase the event of a row. */
  readonly isErased: (row: JsonObject) => boolean
  /** Ends the erasure early, which rejects with its reason. Completed files stay erased. */
  readonly signal: AbortSignal
}

/** The result of an erasure. */
export interface ErasedFromArchive {
  /** Erased events. */
  readonly events: number
  /** Files that were rewritten or removed. */
  readonly files: number
  /**
   * Files with parts that could not be read or written, and so are unchanged: a path and a reason without
   * payloads each, for the first {@link problemsMax} files.
   */
  readonly problems: readonly string[]
}

/** The maximum number of files whose problems are reported. Further files are only counted. */
export const problemsMax = 100

/** The writer that appends to the archive during the erasure, without the events to erase. */
export interface ArchiveWriter {
  /** Tells whether it appends to files of this name. */
  isOpen(name: string): boolean
  /** Makes it append to other files from now on. */
  closeFile(): Promise<void>
  /** Runs a task while it appends nothing. */
  betweenWrites(task: () => Promise<void>): Promise<void>
}

/** The settings of an erasure. */
export interface EraseFromArchiveOptions extends ArchiveErasureRequest {
  /** The folder of the archive. */
  readonly directory: string
  /** The writer that appends to it; none by default. */
  readonly writer?: ArchiveWriter
  /** The functions that change files. */
  readonly files?: FileChanges
}

/**
 * Returns a test of a row: whether its event is about one of these users (userId, or previousId of an alias),
 * and was accepted at or before a moment in milliseconds since 1970.
 */
export function isAboutUsers(
  userIds: readonly string[],
  untilMs: number,
): (row: JsonObject) => boolean {
  const users = new Set<unknown>(userIds)
  return (row) => {
    const { type, userId, previousId } = row
    if (!users.has(userId) && !(type === 'alias' && users.has(previousId))) return false
    const receivedAtMs = receivedAtOf(row)
    return receivedAtMs !== undefined && receivedAtMs <= untilMs
  }
}

/**
 * Erases events of a source from all its files, including those of earlier runs. Files without matching
 * events are only read. A file with nothing else in it is removed, and so is the folder of its day after the
 * last file. Temporary files of interrupted erasures are removed as well.
 *
 * Only one erasure of an archive may run at a time. A file that cannot be read or written does not stop the
 * erasure of others.
 *
 * @throws the reason of the signal
 */
export async function eraseFromArchive(
  options: EraseFromArchiveOptions,
): Promise<ErasedFromArchive> {
  const erasure = new Erasure(options)
  await erasure.run()
  return erasure.erased
}

const noWriter: ArchiveWriter = {
  isOpen: () => false,
  closeFile: () => Promise.resolve(),
  betweenWrites: (task) => task(),
}

class Erasure {
  readonly #options: EraseFromArchiveOptions
  readonly #files: FileChanges
  readonly #writer: ArchiveWriter
  readonly #problems: string[] = []
  #problemsCount = 0
  #erasedEvents = 0
  #changedFiles = 0

  constructor(options: EraseFromArchiveOptions) {
    this.#options = options
    this.#files = options.files ?? systemFileChanges
    this.#writer = options.writer ?? noWriter
  }

  get erased(): ErasedFromArchive {
    const untold = this.#problemsCount - this.#problems.length
    return {
      events: this.#erasedEvents,
      files: this.#changedFiles,
      problems: untold === 0 ? this.#problems : [...this.#problems, `and ${untold} more files`],
    }
  }

  async run(): Promise<void> {
    const { directory, sourceId } = this.#options
    const folder = archiveFolder(directory, sourceId)
    await this.#telling(folder, async () => {
      for (const day of await namesIn(folder)) {
        await this.#telling(join(folder, day), () => this.#eraseDay(folder, day))
      }
    })
  }

  async #eraseDay(folder: string, day: string): Promise<void> {
    const path = join(folder, day)
    for (const name of await namesIn(path)) {
      const file = join(path, name)
      await this.#telling(file, () =>
        isTemporary(name) ? this.#files.unlink(file) : this.#eraseFile(file, name),
      )
    }
    if ((await namesIn(path)).length === 0) await this.#removeEmpty(folder, path)
  }

  async #eraseFile(path: string, name: string): Promise<void> {
    const { isErased, signal } = this.#options
    const isOpen = this.#writer.isOpen(name)
    const { events, problem } = await eraseFromFile(path, {
      isErased,
      signal,
      files: this.#files,
      beforeChange: async () => {
        if (this.#writer.isOpen(name)) await this.#writer.closeFile()
      },
    })
    if (events > 0) this.#changedFiles++
    this.#erasedEvents += events
    // Ignore a problem in an open file: a part that is being appended looks cut off.
    if (problem !== undefined && !(isOpen && events === 0)) this.#tell(path, problem)
  }

  /** Removes the folder of a day between writes, because the writer may be about to write to it. */
  async #removeEmpty(folder: string, day: string): Promise<void> {
    await this.#writer.betweenWrites(async () => {
      try {
        await this.#files.rmdir(day)
      } catch (error) {
        if (stays.includes(systemCode(error) ?? '')) return
        throw error
      }
      await syncFolder(folder, this.#files)
    })
  }

  async #telling(path: string, task: () => Promise<void>): Promise<void> {
    this.#options.signal.throwIfAborted()
    try {
      await task()
    } catch (error) {
      this.#options.signal.throwIfAborted()
      this.#tell(path, messageOf(error))
    }
  }

  #tell(path: string, reason: string): void {
    this.#problemsCount++
    if (this.#problems.length < problemsMax) this.#problems.push(`${path}: ${reason}`)
  }
}

/** Error codes of the system for a folder that has files again, and for a link to a folder. */
const stays = ['ENOTEMPTY', 'EEXIST', 'ENOTDIR']
