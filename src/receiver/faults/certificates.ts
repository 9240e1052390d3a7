import { isIP } from 'node:net'
import type * as Selfsigned from 'selfsigned'
import { systemClock } from '../../runtime/index.ts'

/** A certificate and its private key, both in PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** Who signs a certificate, whom it is for, and when it is valid. */
export interface CertificateSettings {
  /** The authority that signs the certificate; by default it is self-signed. */
  readonly authority?: Certificate | undefined
  readonly hosts: readonly string[]
  /** The beginning and the end of the certificate's validity, relative to now. */
  readonly validFromMs: number
  readonly validToMs: number
  /** The hash algorithm of the signature; default SHA-256. */
  readonly digest?: 'sha256' | 'sha1' | undefined
}

const dayMs = 24 * 60 * 60 * 1_000
const localHosts = ['127.0.0.1', '::1', 'localhost']
const good = { hosts: localHosts, validFromMs: -dayMs, validToMs: 30 * dayMs } as const

const flaws = {
  'self-signed': {},
  expired: { validFromMs: -2 * dayMs, validToMs: -dayMs },
  'wrong-host': { hosts: ['wrong-host.example.com'] },
  valid: {},
} satisfies Readonly<Record<string, Partial<CertificateSettings>>>

/**
 * The flaw of a receiver's certificate.
 *
 * - `valid`: none, for clients that trust its authority
 * - `self-signed`: no authority signed it
 * - `expired`: it expired a day ago
 * - `wrong-host`: it is for a different host
 */
export type TlsKind = keyof typeof flaws

/** All kinds, in the order of the documentation. */
export const tlsKinds: readonly TlsKind[] = Object.freeze(Object.keys(flaws) as TlsKind[])

/** Makes a receiver's certificate with the flaw `kind`, and the certificate of the authority that signed it, if any. */
export async function certificateOf(kind: TlsKind) {
  if (kind === 'self-signed') return { ...(await makeCertificate(good)), authority: null }
  const authority = await makeAuthority()
  const { cert, key } = await makeCertificate({ ...good, ...flaws[kind], authority })
  return { cert, key, authority: authority.cert }
}

/** Makes a certificate authority, which clients must be configured to trust. */
export async function makeAuthority(): Promise<Certificate> {
  return generate('Evroute Test Authority', {
    notBeforeDate: fromNow(-dayMs),
    notAfterDate: fromNow(30 * dayMs),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  })
}

/** Makes a certificate and its key, signed by the authority or by itself. */
export async function makeCertificate(settings: CertificateSettings): Promise<Certificate> {
  const { authority, hosts, validFromMs, validToMs, digest = 'sha256' } = settings
  return generate('Evroute Test Receiver', {
    algorithm: digest,
    notBeforeDate: fromNow(validFromMs),
    notAfterDate: fromNow(validToMs),
    extensions: [
      { name: 'basicConstraints', cA: false },
      {
        name: 'subjectAltName',
        altNames: hosts.map((host) =>
          isIP(host) === 0 ? { type: 2, value: host } : { type: 7, ip: host },
        ),
      },
    ],
    ...(authority && { ca: authority }),
  })
}

type GenerateOptions = NonNullable<Parameters<typeof Selfsigned.generate>[1]>

async function generate(commonName: string, options: GenerateOptions): Promise<Certificate> {
  // Load the library only here, because it is larger than the rest of the receiver.
  const selfsigned = await import('selfsigned')
  const { cert, private: key } = await selfsigned.generate(
    [{ name: 'commonName', value: commonName }],
    { keyType: 'ec', algorithm: 'sha256', ...options },
  )
  return { cert, key }
}

/** Uses real time, because clients check certificates by real time even if the receiver's clock is manual. */
function fromNow(ms: number): Date {
  return new Date(systemClock.nowMs() + ms)
}
