import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../model/index.ts'
import { cannotWrite } from './archive-files.ts'

/**
 * The file that holds the id, so that the id moves with the folder. No source's folder has this name: their
 * dots are encoded.
 */
const fileName = '.evroute-archive'

/**
 * Returns the id of the archive in a folder. If it has none, creates the folder and stores a new id.
 *
 * @throws EvrouteError `cannot_write_file`
 */
export async function archiveIdOf(directory: string, newId: () => string): Promise<string> {
  const known = await archiveIdIn(directory)
  if (known !== undefined) return known
  const id = newId()
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await writeFile(join(directory, fileName), `${id}\n`, { flush: true, mode: 0o600 })
    return id
  } catch (error) {
    throw cannotWrite(directory, error)
  }
}

/** Returns the id of the archive in a folder; undefined if it has none yet. */
export async function archiveIdIn(directory: string): Promise<string | undefined> {
  try {
    const id = (await readFile(join(directory, fileName), 'utf8')).trim()
    return id === '' ? undefined : id
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
