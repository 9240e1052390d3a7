import { generate } from 'selfsigned'

/** What a TLS server presents: its certificate, with the chain behind it, and its private key. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

const hourMs = 60 * 60 * 1_000
const fast = { keyType: 'ec', algorithm: 'sha256' } as const

/** Makes an authority of the test's own; nobody trusts it unless told to. */
export async function makeAuthority(): Promise<Certificate> {
  const { cert, private: key } = await generate([commonName('Example Authority')], {
    ...fast,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  })
  return { cert, key }
}

/** How a certificate differs from a good one, which is for 127.0.0.1 and valid since an hour. */
export interface CertificateSettings {
  /** Who signs it; itself when absent. */
  readonly authority?: Certificate
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
export async function makeCertificate(settings: CertificateSettings = {}): Promise<Certificate> {
  const { authority, host, expiresInMs = hourMs, algorithm = 'sha256' } = settings
  const nowMs = new Date().getTime()
  const { cert, private: key } = await generate([commonName('Example Endpoint')], {
    ...fast,
    algorithm,
    notBeforeDate: new Date(nowMs - 2 * hourMs),
    notAfterDate: new Date(nowMs + expiresInMs),
    extensions: [
      { name: 'basicConstraints', cA: false },
      {
        name: 'subjectAltName',
        altNames: [host === undefined ? { type: 7, ip: '127.0.0.1' } : { type: 2, value: host }],
      },
    ],
    ...(authority === undefined ? {} : { ca: authority }),
  })
  const chain = settings.withChain === true && authority !== undefined ? [authority.cert] : []
  return { cert: [cert, ...chain].join('\n'), key }
}

function commonName(value: string): { readonly name: string; readonly value: string } {
  return { name: 'commonName', value }
}
