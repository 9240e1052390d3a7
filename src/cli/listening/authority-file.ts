import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cannotWrite } from '../output/error.ts'

/** A file with the certificate of a test authority. Senders trust the authority if NODE_EXTRA_CA_CERTS names the file. */
export interface AuthorityFile {
  readonly path: string
  /** Deletes the file. */
  readonly remove: () => void
}

/** @throws EvrouteError `cannot_write_file` */
export async function saveAuthority(authority: string): Promise<AuthorityFile> {
  try {
    const folder = await mkdtemp(join(tmpdir(), 'evroute-authority-'))
    const path = join(folder, 'authority.pem')
    await writeFile(path, authority)
    const remove = (): void => {
      process.off('exit', remove)
      rmSync(folder, { recursive: true, force: true })
    }
    // A second signal or an error ends the process at once.
    process.once('exit', remove)
    return { path, remove }
  } catch (error) {
    const hint = 'Set TMPDIR to a writable folder.'
    throw cannotWrite('Cannot save the certificate of the authority', hint, error)
  }
}
