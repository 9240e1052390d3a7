import * as certificates from '../../src/receiver/faults/certificates.ts'

export { makeAuthority, type Certificate } from '../../src/receiver/faults/certificates.ts'

const hourMs = 60 * 60 * 1_000

/** How a certificate differs from a good one, which is for 127.0.0.1 and valid since two hours. */
export interface CertificateSettings {
  /** Who signs it; itself when absent. */
  readonly authority?: certificates.Certificate
  /** The only host it is for. */
  readonly host?: string
  /** When it ends, counted from now; in an hour by default. */
  readonly expiresInMs?: number
  /** The digest of its signature; SHA-256 by default. */
  readonly algorithm?: 'sha256' | 'sha1'
  /** Whether the server sends the authority's certificate along; not by default. */
  readonly withChain?: boolean
}

/** Makes a certificate for a server. */
export async function makeCertificate(
  settings: CertificateSettings = {},
): Promise<certificates.Certificate> {
  const { authority, host = '127.0.0.1', expiresInMs = hourMs, algorithm, withChain } = settings
  const { cert, key } = await certificates.makeCertificate({
    authority,
    hosts: [host],
    validFromMs: -2 * hourMs,
    validToMs: expiresInMs,
    digest: algorithm,
  })
  const chain = withChain === true && authority !== undefined ? [authority.cert] : []
  return { cert: [cert, ...chain].join('\n'), key }
}
