import {
  accessSync,
  constants,
  existsSync,
  readlinkSync,
  realpathSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { basename, dirname, isAbsolute, join, sep } from 'node:path'
import { systemCode } from '../../model/index.ts'
import { unusable, MissingStoreError } from '../store-errors.ts'

/**
 * Returns the path of a file with all symbolic links resolved, even if the file does not exist yet, so that
 * every process finds the same lock and write-ahead log beside it. Returns a path in a missing folder unchanged.
 */
export function realPathOf(path: string): string {
  const known = realPathIfThere(path)
  if (known !== undefined) return known
  const folder = realPathIfThere(dirname(path))
  if (folder === undefined) return path
  const missing = join(folder, basename(path))
  const target = linkTarget(missing)
  if (target === undefined) return missing
  // Don't use `join`, which removes the folder before a `..` even if the folder is a link.
  return realPathOf(isAbsolute(target) ? target : `${folder}${sep}${target}`)
}

function realPathIfThere(path: string): string | undefined {
  try {
    // Use `native`, because plain `realpathSync` resolves a `..` as text.
    return realpathSync.native(path)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** @throws EvrouteError `store_unusable` if the folder of a file does not exist */
export function expectFolder(path: string): void {
  const folder = dirname(path)
  if (existsSync(folder)) return
  throw unusable(
    `Cannot use the store ${path}: the folder ${folder} does not exist`,
    'Create the folder, or name a different file.',
  )
}

/**
 * Refuses a file with several names (hard links). SQLite finds the write-ahead log by the file's name, so a
 * process that uses a different name would miss changes and damage the file.
 *
 * @throws EvrouteError `store_unusable`
 */
export function expectOneName(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined || stats.nlink <= 1) return
  throw unusable(
    `Cannot use the store ${path}: the file has ${stats.nlink} names (hard links), so several processes could write to it at once`,
    'Remove the other names, or copy the file and name the copy.',
  )
}

/** @throws MissingStoreError if there is no such file */
export function expectFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return
  throw new MissingStoreError({
    message: `Cannot use the store ${path}: there is no such file`,
    hint: 'Name the file of an existing store.',
  })
}

/** Tells whether this user may read a file. */
export function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** Returns the free bytes on a file's disk; Infinity if unknown. */
export function freeBytesBeside(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize
  } catch {
    return Infinity
  }
}

/** Formats a size for messages, in megabytes, rounded up. */
export function inMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`
}
