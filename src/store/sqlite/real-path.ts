import { readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, sep } from 'node:path'
import { systemCode } from '../../model/index.ts'

/**
 * The path of a file behind every symbolic link, whether or not the file is there already. SQLite puts
 * its log beside that path, and a lock is none unless everybody finds it there. A file whose folder is
 * missing keeps the path that it was given.
 */
export function realPathOf(path: string): string {
  const known = realPathIfThere(path)
  if (known !== undefined) return known
  const folder = realPathIfThere(dirname(path))
  if (folder === undefined) return path
  const missing = join(folder, basename(path))
  const target = linkTarget(missing)
  if (target === undefined) return missing
  // Not joined, which would take the folder before a `..` away even where that folder is a link.
  return realPathOf(isAbsolute(target) ? target : `${folder}${sep}${target}`)
}

function realPathIfThere(path: string): string | undefined {
  try {
    // The other one takes a `..` literally, which the system does not.
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
