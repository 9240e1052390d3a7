import { createReadStream, type Stats } from 'node:fs'
import type * as FilePromises from 'node:fs/promises'
import { open, realpath, rename, rmdir, stat, unlink, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { systemCode, type JsonObject } from '../model/index.ts'
import { temporaryPath } from './archive-files.ts'
import { readArchiveText, type TextPiece } from './archive-text.ts'

/** Functions that change files. Tests replace them with ones that fail. */
export type FileChanges = Readonly<
  Pick<typeof FilePromises, 'open' | 'rename' | 'unlink' | 'rmdir'>
>

/** The default {@link FileChanges}: functions of Node. */
export const systemFileChanges: FileChanges = Object.freeze({ open, rename, unlink, rmdir })

interface FileErasureOptions {
  readonly isErased: (row: JsonObject) => boolean
  readonly files: FileChanges
  /** Called before the file is rewritten, if it has an event to erase. */
  readonly beforeChange: () => Promise<void>
  /** Ends the erasure with the signal's reason, and leaves the file unchanged. */
  readonly signal: AbortSignal
}

interface FileErasure {
  /** Number of erased events; if 0, the file is unchanged. */
  readonly events: number
  /** Whether the file was removed, because no rows were left in it. */
  readonly isRemoved: boolean
  /** Why part of the file could not be read; undefined if all of it could. */
  readonly problem: string | undefined
}

/**
 * Erases events from an archive file. Writes the remaining rows to a new file, which replaces the old one once it is
 * on disk, so an interruption leaves one or the other. Rows keep their order and bytes; the file keeps its
 * compression, owner, mode and times.
 *
 * Unreadable lines stay where they are. A part that can't be decompressed would hide later rows, so it moves to a
 * separate file, `<name>.damaged-<byte at which it began>`. That file begins with three bytes that make readers report
 * damage.
 *
 * @throws the error that prevented reading or writing; the file is then unchanged
 */
export async function eraseFromFile(
  path: string,
  options: FileErasureOptions,
): Promise<FileErasure> {
  // Rewrite the file that a symbolic link points to, so that the link stays a link.
  const target = await realpath(path)
  // A pipe or a device may block when it is opened, or never end.
  if (!(await stat(target)).isFile()) throw new Error('It is not a file')
  const { isFound, problem } = await look(target, options)
  if (!isFound) return { events: 0, isRemoved: false, problem }
  await options.beforeChange()
  const erasure = await new Rewriting(target, options).run()
  if (erasure.isRemoved && target !== path) {
    await options.files.unlink(path)
    await syncFolder(dirname(path), options.files)
  }
  return erasure
}

/** Looks for an event to erase, because most files have none and need not be rewritten. */
async function look(
  path: string,
  { isErased, signal }: FileErasureOptions,
): Promise<{ readonly isFound: boolean; readonly problem?: string | undefined }> {
  const problems = new RowProblems()
  for await (const part of readArchiveText(path)) {
    signal.throwIfAborted()
    if (part.kind === 'damaged') problems.add(part.reason)
    else if (part.pieces.some((piece) => piece.kind === 'event' && isErased(piece.row))) {
      return { isFound: true }
    } else problems.addOf(part.pieces)
  }
  return { isFound: false, problem: problems.text }
}

class Rewriting {
  readonly #path: string
  readonly #options: FileErasureOptions
  readonly #problems = new RowProblems()
  #events = 0
  #isAnythingKept = false
  /** The position of the first byte that can't be decompressed. */
  #readBytes: number | undefined

  constructor(path: string, options: FileErasureOptions) {
    this.#path = path
    this.#options = options
  }

  async run(): Promise<FileErasure> {
    const { files } = this.#options
    const before = await stat(this.#path)
    const temporary = temporaryPath(this.#path)
    try {
      await this.#write(temporary, before)
      await this.#keepDamaged(before)
      // Don't lose events that another process may have written.
      if (!isSame(before, await stat(this.#path)))
        throw new Error('The file changed during the erasure, so nothing was erased from it')
      if (this.#isAnythingKept) await files.rename(temporary, this.#path)
    } catch (error) {
      await files.unlink(temporary).catch(() => undefined)
      throw error
    }
    if (!this.#isAnythingKept) {
      await files.unlink(temporary)
      await files.unlink(this.#path)
    }
    await syncFolder(dirname(this.#path), files)
    const { text: problem } = this.#problems
    return { events: this.#events, isRemoved: !this.#isAnythingKept, problem }
  }

  async #write(temporary: string, like: Stats): Promise<void> {
    const { files, signal } = this.#options
    const isCompressed = await beginsLikeGzip(this.#path)
    const file = await files.open(temporary, 'w', 0o600)
    try {
      const write = async (parts: AsyncIterable<Buffer>): Promise<void> => {
        for await (const bytes of parts) await file.appendFile(bytes)
      }
      const kept = this.#kept()
      if (isCompressed) await pipeline(kept, createGzip(), write, { signal })
      else await write(kept)
      await copyAccess(like, file)
      // Keep the file's times, because operators may use them to delete old files.
      await file.utimes(like.atime, like.mtime)
      await file.sync()
    } finally {
      await file.close()
    }
  }

  async *#kept(): AsyncGenerator<Buffer> {
    const { isErased, signal } = this.#options
    for await (const part of readArchiveText(this.#path)) {
      signal.throwIfAborted()
      if (part.kind === 'damaged') {
        this.#problems.add(part.reason)
        this.#readBytes = part.readBytes
        return
      }
      const kept = part.pieces.filter((piece) => piece.kind !== 'event' || !isErased(piece.row))
      this.#events += part.pieces.length - kept.length
      this.#problems.addOf(kept)
      this.#isAnythingKept ||= kept.some(({ kind, bytes }) => kind !== 'other' || !isBlank(bytes))
      if (kept.length > 0) yield Buffer.concat(kept.map(({ bytes }) => bytes))
    }
  }

  async #keepDamaged(like: Stats): Promise<void> {
    const start = this.#readBytes
    if (start === undefined || start >= like.size) return
    const { files, signal } = this.#options
    const path = `${this.#path}.damaged-${start}`
    const file = await files.open(path, 'w', 0o600)
    try {
      await file.appendFile(noBeginning)
      for await (const bytes of createReadStream(this.#path, { start })) {
        signal.throwIfAborted()
        await file.appendFile(bytes as Buffer)
      }
      await copyAccess(like, file)
      await file.sync()
    } finally {
      await file.close()
    }
  }
}

async function copyAccess({ uid, gid, mode }: Stats, file: FileHandle): Promise<void> {
  // Root must leave files to their owner, or the service could no longer read them. Others can't change owners.
  await file.chown(uid, gid).catch(() => undefined)
  await file.chmod(mode)
}

const gzipMagic = Buffer.of(0x1f, 0x8b)

/** A gzip header with an invalid compression method, so that readers report damage instead of rows. */
const noBeginning = Buffer.of(...gzipMagic, 0xff)

async function beginsLikeGzip(path: string): Promise<boolean> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(gzipMagic.length))
  return buffer.subarray(0, bytesRead).equals(gzipMagic)
}

function isSame(before: Stats, after: Stats): boolean {
  return before.ino === after.ino && before.size === after.size && before.mtimeMs === after.mtimeMs
}

function isBlank(bytes: Buffer): boolean {
  return bytes.toString('utf8').trim() === ''
}

/** Error codes from systems where folders can't be synced, and needn't be. */
const cannotSyncFolders = ['EISDIR', 'EPERM', 'EACCES', 'EINVAL']

/** Makes the creation, renaming and removal of files in a folder durable. */
export async function syncFolder(path: string, files: FileChanges): Promise<void> {
  try {
    const folder = await files.open(path, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  } catch (error) {
    if (!cannotSyncFolders.includes(systemCode(error) ?? '')) throw error
  }
}

/** Keeps a file's first problem and counts the others, because every row may have one. */
class RowProblems {
  #first: string | undefined
  #others = 0

  get text(): string | undefined {
    return this.#others === 0 ? this.#first : `${this.#first ?? ''}; and ${this.#others} more`
  }

  add(reason: string): void {
    if (this.#first === undefined) this.#first = reason
    else this.#others++
  }

  addOf(pieces: readonly TextPiece[]): void {
    for (const piece of pieces) if (piece.kind === 'unreadable') this.add(piece.reason)
  }
}
