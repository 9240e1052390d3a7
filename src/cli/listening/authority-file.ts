import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { cannotWrite } from '../output/error.ts'

/** A file with the certificate of a test authority. Senders trust the authority if NODE_EXTRA_CA_CERTS names the file. */
export class AuthorityFile {
  readonly path: string
  readonly #remove = (): void => rmSync(dirname(this.path), { recursive: true, force: true })

  private constructor(path: string) {
    this.path = path
    // A second signal or an error ends the process without calling {@link remove}.
    process.once('exit', this.#remove)
  }

  /** @throws EvrouteError `cannot_write_file` */
  static async write(authority: string): Promise<AuthorityFile> {
    try {
      const folder = await mkdtemp(join(tmpdir(), 'evroute-authority-'))
      const path = join(folder, 'authority.pem')
      await writeFile(path, authority)
      return new AuthorityFile(path)
    } catch (error) {
      const hint = 'Set TMPDIR to a writable folder.'
      throw cannotWrite('Cannot save the certificate of the authority', hint, error)
    }
  }

  /** Removes the file. */
  remove(): void {
    process.off('exit', this.#remove)
    this.#remove()
  }
}
