import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../model/index.ts'

/** Where the events of a source are. Its id is no path, whatever it is made of. */
export function archiveFolder(directory: string, sourceId: string): string {
  return join(directory, encodeURIComponent(sourceId).replaceAll('.', '%2E'))
}

/** What a folder holds, in order; nothing when it does not exist. */
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

/** What the reader of files is given in place of standard input: files are all there is to read. */
export async function* noInput(): AsyncGenerator<Uint8Array> {
  yield* await Promise.resolve([])
}
