import { readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, sep } from 'node:path'
import { systemCode } from '../../model/index.ts'

/**
 * The path of a file behind all symbolic links, even if the file does not exist yet. SQLite puts its
 * log beside that path, and every process must find the lock there. A file in a missing folder keeps
 * its path.
 */
export function realPathOf(path: string): string {
  const known = realPathIfThere(path)
  if (known !== undefined) return known
  const folder = realPathIfThere(dirname(path))
  if (folder === undefined) return path
  const missing = join(folder, basename(path))
  const target = linkTarget(missing)
  if (target === undefined) return missing
  // Not `join`, which removes the folder before a `..` even if the folder is a link.
  return realPathOf(isAbsolute(target) ? target : `${folder}${sep}${target}`)
}

function realPathIfThere(path: string): string | undefined {
  try {
    // `native`, because the other function removes a `..` by its text.
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
