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

/** A request to erase events of one source from an archive. */
export interface ArchiveErasureRequest {
  /** The source whose files are searched. */
  readonly sourceId: string
  /** Tells whether to erase the event of a row. */
  readonly isErased: (row: JsonObject) => boolean
  /** Ends the erasure early: it rejects with the signal's reason. Files that were already rewritten stay so. */
  readonly signal: AbortSignal
}

/** The result of an erasure from an archive. */
export interface ErasedFromArchive {
  /** Number of erased events. */
  readonly events: number
  /** Number of files that were rewritten or removed. */
  readonly files: number
  /**
   * Messages about files with parts that could not be read or written and are therefore unchanged. Each has a
   * path and a reason, and no payload. After {@link problemsMax} messages, the last one counts the other files.
   */
  readonly problems: readonly string[]
}

/** The maximum number of files whose problems are reported one by one. Further files are only counted. */
export const problemsMax = 100

/**
 * The writer that keeps appending to the archive during the erasure. It leaves out events that match the
 * erasure.
 */
export interface ArchiveWriter {
  /** Tells whether it is appending to files of this name. */
  isOpen(name: string): boolean
  /** Closes its current files. It writes later events to new files. */
  closeFile(): Promise<void>
  /** Runs a task between two writes. */
  betweenWrites(task: () => Promise<void>): Promise<void>
}

/** An erasure, with the archive it works on. */
export interface EraseFromArchiveOptions extends ArchiveErasureRequest {
  /** The folder of the archive. */
  readonly directory: string
  /** The writer that is appending to the archive; none by default. */
  readonly writer?: ArchiveWriter
  /** The functions that change files; {@link systemFileChanges} by default. */
  readonly files?: FileChanges
}

/**
 * Returns a predicate for rows: whether the event is about one of these users and was accepted at or before
 * `untilMs`, in milliseconds since 1970. An event is about a user if its userId, or the previousId of an alias,
 * is that user's id.
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
 * Erases events of a source from all its files, including files of earlier runs. Files without matching events
 * are only read. A file is removed if no events are left in it, and the folder of a day if no files are.
 * Temporary files left by interrupted erasures are removed too.
 *
 * Run only one erasure of an archive at a time. If a file can't be read or written, the erasure reports it and
 * continues with the others.
 *
 * @throws the signal's reason once it aborts
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
      problems:
        untold === 0
          ? this.#problems
          : [...this.#problems, `and ${untold} more ${untold === 1 ? 'file' : 'files'}`],
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
    // Ignore a problem in an open file, because a part that is just being appended looks cut off.
    if (problem !== undefined && !(isOpen && events === 0)) this.#tell(path, problem)
  }

  /**
   * Removes the folder of a day if it is empty. Runs between writes, because the writer may be about to create
   * a file in the folder.
   */
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

/** Error codes for a folder that has files again, and for a symbolic link to a folder. Both stay. */
const stays = ['ENOTEMPTY', 'EEXIST', 'ENOTDIR']
