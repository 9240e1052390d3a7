import * as certificates from '../../src/receiver/faults/certificates.ts'

export { makeAuthority, type Certificate } from '../../src/receiver/faults/certificates.ts'

const hourMs = 60 * 60 * 1_000

/** How a certificate differs from the default: self-signed, for 127.0.0.1, valid from two hours ago. */
export interface CertificateSettings {
  /** The authority that signs it; self-signed by default. */
  readonly authority?: certificates.Certificate
  /** The only host that it is for. */
  readonly host?: string
  /** Time from now until it expires; default one hour. */
  readonly expiresInMs?: number
  /** The hash algorithm of its signature; default SHA-256. */
  readonly algorithm?: 'sha256' | 'sha1'
  /** Whether the server also sends the authority's certificate; default false. */
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
