import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../model/index.ts'

/** Returns the folder of a source's events. The source id is encoded, so it never acts as a path. */
export function archiveFolder(directory: string, sourceId: string): string {
  return join(directory, encodeURIComponent(sourceId).replaceAll('.', '%2E'))
}

/** Returns the sorted names in a folder; none if the folder does not exist. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted()
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}

const temporarySuffix = '.erasing'

/** Returns the path of the temporary file that replaces a file. A crash may leave it behind. */
export function temporaryPath(path: string): string {
  return `${path}${temporarySuffix}`
}

/** Tells whether a name or path is that of a temporary file, which is no part of an archive. */
export function isTemporary(name: string): boolean {
  return name.endsWith(temporarySuffix)
}

/** An empty standard input, because an archive has only files. */
export async function* noInput(): AsyncGenerator<Uint8Array> {
  yield* await Promise.resolve([])
}
