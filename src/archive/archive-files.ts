import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { EvrouteError, messageOf, systemCode } from '../model/index.ts'

/**
 * Returns the folder that holds a source's events. The source id is encoded, so that it can't lead to another
 * folder.
 */
export function archiveFolder(directory: string, sourceId: string): string {
  return join(directory, encodeURIComponent(sourceId).replaceAll('.', '%2E'))
}

/** Returns the names in a folder, sorted; none if the folder doesn't exist. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted()
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}

const temporarySuffix = '.erasing'

/**
 * Returns the path of the temporary file to which the new content of a file is written. A crash may leave it
 * behind.
 */
export function temporaryPath(path: string): string {
  return `${path}${temporarySuffix}`
}

/** Tells whether a name or path belongs to a temporary file, which is not part of the archive. */
export function isTemporary(name: string): boolean {
  return name.endsWith(temporarySuffix)
}

/** An empty stream to pass as standard input: an archive is read from files only. */
export async function* noInput(): AsyncGenerator<Uint8Array> {
  yield* await Promise.resolve([])
}

/** Makes the error for an archive, or a file in it, that cannot be written. */
export function cannotWrite(path: string, cause: unknown): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: `Cannot write the archive ${path}: ${messageOf(cause)}`,
    hint: 'Check the permissions of the folder and the free space on its disk.',
    cause,
  })
}
