import { createReadStream, type Stats } from 'node:fs'
import { open, realpath, rename, rmdir, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { systemCode, type JsonObject } from '../model/index.ts'
import { temporaryPath } from './archive-files.ts'
import { readArchiveText, type TextPiece } from './archive-text.ts'

/** How files are changed. */
export interface FileChanges {
  /** Opens one. */
  readonly open: typeof open
  /** Puts one in the place of another. */
  readonly rename: typeof rename
  /** Removes one. */
  readonly unlink: typeof unlink
  /** Removes a folder that is empty. */
  readonly rmdir: typeof rmdir
}

/** How files are changed where nothing else is given. */
export const systemFileChanges: FileChanges = Object.freeze({ open, rename, unlink, rmdir })

/** The events to erase, and the means. */
export interface FileErasureOptions {
  /** Whether an event is taken out. */
  readonly isErased: (row: JsonObject) => boolean
  /** How files are changed. */
  readonly files: FileChanges
  /** Called once something is to be taken out, before the file is read for the last time. */
  readonly beforeChange: () => Promise<void>
  /** Ends it, with its reason; the file is as it was then. */
  readonly signal: AbortSignal
}

/** The erased events of a file. */
export interface FileErasure {
  /** Events that were taken out; where there are none the file is as it was. */
  readonly events: number
  /** Whether nothing was left, and the file is gone. */
  readonly isRemoved: boolean
  /** Why some of it could not be read; undefined where all was. */
  readonly problem: string | undefined
}

/**
 * Erases events from a file of an archive. The file is replaced as a whole once the remaining rows are on the
 * disk, so an interruption leaves either the old file or the new one. Rows keep their order and bytes; the
 * file keeps its compression, mode and times.
 *
 * Unreadable parts stay too. Unreadable lines keep their place. A part that cannot be inflated would hide
 * later rows, so it goes to a file beside it, `<name>.damaged-<byte at which it began>`, behind three bytes
 * that no reader takes for a beginning.
 *
 * @throws the error that keeps it from being read or written; the file is unchanged then
 */
export async function eraseFromFile(
  path: string,
  options: FileErasureOptions,
): Promise<FileErasure> {
  // A link stays one.
  const target = await realpath(path)
  // Anything but a file may never end, or never begin.
  if (!(await stat(target)).isFile()) throw new Error('It is not a file')
  const found = await look(target, options)
  if (found.kind === 'nothing') return { events: 0, isRemoved: false, problem: found.problem }
  await options.beforeChange()
  const rewriting = new Rewriting(target, options)
  const erasure = await rewriting.run()
  if (erasure.isRemoved && target !== path) {
    await options.files.unlink(path)
    await syncFolder(dirname(path), options.files)
  }
  return erasure
}

type Look =
  | { readonly kind: 'something' }
  | { readonly kind: 'nothing'; readonly problem: string | undefined }

/** Most files have nothing to be taken out: reading them is all they cost. */
async function look(path: string, { isErased, signal }: FileErasureOptions): Promise<Look> {
  const problems = new RowProblems()
  for await (const part of readArchiveText(path)) {
    signal.throwIfAborted()
    if (part.kind === 'damaged') problems.add(part.reason)
    else if (part.pieces.some((piece) => piece.kind === 'event' && isErased(piece.row))) {
      return { kind: 'something' }
    } else problems.addOf(part.pieces)
  }
  return { kind: 'nothing', problem: problems.text }
}

/** A file being written anew. */
class Rewriting {
  readonly #path: string
  readonly #options: FileErasureOptions
  readonly #problems = new RowProblems()
  #events = 0
  #isAnythingKept = false
  /** The bytes in front of a part that cannot be inflated. */
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
      // Another process may write to it; its events must not get lost.
      if (!isSame(before, await stat(this.#path))) throw new Error('It was written to meanwhile')
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
    return {
      events: this.#events,
      isRemoved: !this.#isAnythingKept,
      problem: this.#problems.text,
    }
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
      await file.chmod(like.mode)
      // Some let go of old files by their time.
      await file.utimes(like.atime, like.mtime)
      await file.sync()
    } finally {
      await file.close()
    }
  }

  /** The text that stays. */
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

  async #keepDamaged({ size, mode }: Stats): Promise<void> {
    const start = this.#readBytes
    if (start === undefined || start >= size) return
    const { files, signal } = this.#options
    const path = `${this.#path}.damaged-${start}`
    const file = await files.open(path, 'w', 0o600)
    try {
      await file.appendFile(noBeginning)
      for await (const bytes of createReadStream(this.#path, { start })) {
        signal.throwIfAborted()
        await file.appendFile(bytes as Buffer)
      }
      await file.chmod(mode)
      await file.sync()
    } finally {
      await file.close()
    }
  }
}

const gzipMagic = Buffer.of(0x1f, 0x8b)

/** Like gzip, of a method that there is not: readers say that it is damaged, and take nothing behind for rows. */
const noBeginning = Buffer.of(...gzipMagic, 0xff)

async function beginsLikeGzip(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(gzipMagic.length))
    return buffer.subarray(0, bytesRead).equals(gzipMagic)
  } finally {
    await file.close()
  }
}

function isSame(before: Stats, after: Stats): boolean {
  return before.ino === after.ino && before.size === after.size && before.mtimeMs === after.mtimeMs
}

function isBlank(bytes: Buffer): boolean {
  return bytes.toString('utf8').trim() === ''
}

/** Systems that cannot do it for folders do not need it. */
const cannotSyncFolders = ['EISDIR', 'EPERM', 'EACCES', 'EINVAL']

/** Makes the names of a folder's files durable. */
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

/** The mistakes in a file, in constant memory: a mistake is often in every row. */
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
