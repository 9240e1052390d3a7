import { join } from 'node:path'
import { messageOf, systemCode, type JsonObject } from '../model/index.ts'
import { archiveFolder, isGone, isTemporary, namesIn } from './archive-files.ts'
import { receivedAtOf } from './archived-row.ts'
import {
  eraseFromFile,
  syncFolder,
  systemFileChanges,
  type FileChanges,
} from './erase-from-file.ts'

/** A request to erase events of one source from an archive. */
export interface ArchiveErasureRequest {
  readonly sourceId: string
  readonly isErased: (row: JsonObject) => boolean
  /** Ends the erasure early, with the signal's reason. Files that are already rewritten stay that way. */
  readonly signal: AbortSignal
  /** {@link systemFileChanges} by default. */
  readonly files?: FileChanges
}

/** What an erasure changed in an archive, and the files with problems. */
export interface ErasedFromArchive {
  readonly events: number
  /** Number of files that were rewritten or removed. */
  readonly files: number
  /**
   * A path and a reason for each file with problems. The reasons don't quote the files. After {@link problemsMax}
   * files, one entry counts the others.
   */
  readonly problems: readonly string[]
}

/** Maximum number of files whose problems are reported one by one. */
export const problemsMax = 100

/** The writer that appends to the archive during the erasure. It leaves out events that match the erasure. */
interface ArchiveWriter {
  isOpen(name: string): boolean
  /** Closes the current file. Later events go to new files. */
  closeFile(): Promise<void>
  betweenWrites(task: () => Promise<void>): Promise<void>
}

interface ErasureOptions extends ArchiveErasureRequest {
  readonly directory: string
  readonly writer: ArchiveWriter
}

/** Selects events accepted up to `untilMs` with one of these users as userId or, in an alias, as previousId. */
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
 * Erases events of a source from all of its files, and leaves files without matching events unchanged. Removes files
 * that become empty, empty folders of days, and temporary files of interrupted erasures. If a file can't be read
 * or written, continues with the others. Run one erasure of an archive at a time.
 */
export class Erasure {
  readonly #options: ErasureOptions
  readonly #files: FileChanges
  readonly #problems: string[] = []
  #problemsCount = 0
  #erasedEvents = 0
  #changedFiles = 0

  constructor(options: ErasureOptions) {
    this.#options = options
    this.#files = options.files ?? systemFileChanges
  }

  /** Runs the erasure once. Throws the signal's reason after an abort. */
  async run(): Promise<ErasedFromArchive> {
    const { directory, sourceId } = this.#options
    const folder = archiveFolder(directory, sourceId)
    await this.#reporting(folder, async () => {
      for (const day of await namesIn(folder)) {
        await this.#reporting(join(folder, day), () => this.#eraseDay(folder, day))
      }
    })
    const unlisted = this.#problemsCount - this.#problems.length
    if (unlisted > 0)
      this.#problems.push(`and ${unlisted} more ${unlisted === 1 ? 'file' : 'files'}`)
    return { events: this.#erasedEvents, files: this.#changedFiles, problems: this.#problems }
  }

  async #eraseDay(folder: string, day: string): Promise<void> {
    const path = join(folder, day)
    const names = await namesIn(path)
    // Remove temporary files first: rewriting a file writes its own temporary file at the same path.
    const leftovers = names.filter(isTemporary)
    for (const name of [...leftovers, ...names.filter((each) => !isTemporary(each))]) {
      const file = join(path, name)
      await this.#reporting(file, () =>
        isTemporary(name) ? this.#files.unlink(file) : this.#eraseFile(file, name),
      )
    }
    if ((await namesIn(path)).length === 0) await this.#removeEmpty(folder, path)
  }

  async #eraseFile(path: string, name: string): Promise<void> {
    const { isErased, signal, writer } = this.#options
    const isOpen = writer.isOpen(name)
    const { events, problem } = await eraseFromFile(path, {
      isErased,
      signal,
      files: this.#files,
      beforeChange: async () => {
        if (writer.isOpen(name)) await writer.closeFile()
      },
    })
    if (events > 0) this.#changedFiles++
    this.#erasedEvents += events
    // Ignore problems of an open file: a part that is being appended looks cut off.
    if (problem !== undefined && !(isOpen && events === 0)) this.#report(path, problem)
  }

  /** Removes an empty folder. Waits for the write in progress, because it may create a file in the folder. */
  async #removeEmpty(folder: string, day: string): Promise<void> {
    await this.#options.writer.betweenWrites(async () => {
      try {
        await this.#files.rmdir(day)
      } catch (error) {
        if (stays.includes(systemCode(error) ?? '')) return
        throw error
      }
      await syncFolder(folder, this.#files)
    })
  }

  async #reporting(path: string, task: () => Promise<void>): Promise<void> {
    this.#options.signal.throwIfAborted()
    try {
      await task()
    } catch (error) {
      this.#options.signal.throwIfAborted()
      if (!(await isGone(path))) this.#report(path, messageOf(error))
    }
  }

  #report(path: string, reason: string): void {
    this.#problemsCount++
    if (this.#problems.length < problemsMax) this.#problems.push(`${path}: ${reason}`)
  }
}

/** Error codes for folders to leave alone: those that have files again, and symbolic links to folders. */
const stays = ['ENOTEMPTY', 'EEXIST', 'ENOTDIR']
