import { lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EvrouteError, messageOf, systemCode } from '../model/index.ts'

/** Returns the folder of a source's events. The source id is encoded, so that it can't lead to another folder. */
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

/** Tells whether a file or folder no longer exists. Operators may remove old ones while they are read or erased. */
export async function isGone(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return false
  } catch (error) {
    return systemCode(error) === 'ENOENT'
  }
}

const temporarySuffix = '.erasing'

/** Returns the path of the temporary file that will replace a file. A crash may leave it behind. */
export function temporaryPath(path: string): string {
  return `${path}${temporarySuffix}`
}

/** Whether a name or path is that of a temporary file, which is not part of the archive. */
export function isTemporary(name: string): boolean {
  return name.endsWith(temporarySuffix)
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

/** Holds the archive's id, even if the folder is moved. No source's folder can have this name: it contains a dot. */
const fileName = '.evroute-archive'

/** Returns the id of the archive in a folder, or stores a new one. Throws `cannot_write_file`. */
export async function archiveIdOf(directory: string, newId: () => string): Promise<string> {
  const known = await archiveIdIn(directory)
  if (known !== undefined) return known
  const id = newId()
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    // Append, because several processes may start at once. The first id counts for all of them.
    const options = { flag: 'a', flush: true, mode: 0o600 } as const
    await writeFile(join(directory, fileName), `${id}\n`, options)
    return (await archiveIdIn(directory)) ?? id
  } catch (error) {
    throw cannotWrite(directory, error)
  }
}

/** Returns the id of the archive in a folder; undefined if it has none yet. */
export async function archiveIdIn(directory: string): Promise<string | undefined> {
  try {
    const [id = ''] = (await readFile(join(directory, fileName), 'utf8')).trim().split('\n')
    return id === '' ? undefined : id
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
