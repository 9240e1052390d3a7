import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../model/index.ts'

/** The folder of a source's events. Its id is never taken as a path. */
export function archiveFolder(directory: string, sourceId: string): string {
  return join(directory, encodeURIComponent(sourceId).replaceAll('.', '%2E'))
}

/** The names in a folder, in order; none if it does not exist. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted()
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}

const temporarySuffix = '.erasing'

/** Where a file is written anew, beside it; a crash may leave it there. */
export function temporaryPath(path: string): string {
  return `${path}${temporarySuffix}`
}

/** Whether a file, or a path, is one that was to take the place of another: no part of an archive. */
export function isTemporary(name: string): boolean {
  return name.endsWith(temporarySuffix)
}

/** Stands in for standard input: an archive has files only. */
export async function* noInput(): AsyncGenerator<Uint8Array> {
  yield* await Promise.resolve([])
}
