import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { EvrouteError, messageOf } from '../../model/index.ts'

/** The certificate of an authority in a file, for senders that shall trust it. */
export class AuthorityFile {
  /** What NODE_EXTRA_CA_CERTS is set to. */
  readonly path: string

  private constructor(path: string) {
    this.path = path
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
  async remove(): Promise<void> {
    await rm(dirname(this.path), { recursive: true, force: true })
  }
}
