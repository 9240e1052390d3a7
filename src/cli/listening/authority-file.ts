import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { EvrouteError, messageOf } from '../../model/index.ts'

/** The certificate of an authority in a file, for senders that shall trust it. */
export class AuthorityFile {
  /** What NODE_EXTRA_CA_CERTS is set to. */
  readonly path: string
  readonly #remove = (): void => rmSync(dirname(this.path), { recursive: true, force: true })

  private constructor(path: string) {
    this.path = path
    // A second signal ends this process at once, and an error can.
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
      throw new EvrouteError({
        code: 'cannot_write_file',
        message: `Cannot save the certificate of the authority: ${messageOf(error)}`,
        hint: 'Set TMPDIR to a folder that may be written to.',
        cause: error,
      })
    }
  }

  /** Removes it. */
  remove(): void {
    process.off('exit', this.#remove)
    this.#remove()
  }
}
