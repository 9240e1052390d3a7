import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { EvrouteError, messageOf, type TlsPaths } from '../model/index.ts'
import { unreadableReason, type Log } from '../runtime/index.ts'
import { FollowedFile } from './followed-file.ts'

/** The contents of PEM files: a certificate, its key, authorities. */
export type TlsTexts = { readonly [Name in keyof TlsPaths]?: string }

/** Certificates and keys in files, read again after a change. If new ones can't be used, the last good ones stay. */
export class TlsFiles {
  readonly #paths: TlsPaths
  readonly #log: Pick<Log, 'warn'>
  readonly #check: (texts: TlsTexts) => unknown
  readonly #files: readonly (readonly [name: keyof TlsPaths, file: FollowedFile<string>])[]
  #current: TlsTexts
  /** The contents that were last checked, or why they could not be read. */
  #seen: string

  private constructor(
    paths: TlsPaths,
    log: Pick<Log, 'warn'>,
    check: (texts: TlsTexts) => unknown,
  ) {
    this.#paths = paths
    this.#log = log
    this.#check = check
    this.#files = (['cert', 'key', 'ca'] as const).flatMap((name) => {
      const path = paths[name]
      return path === undefined ? [] : [[name, new FollowedFile(path, (text) => text)] as const]
    })
    this.#current = this.#read()
    this.#seen = JSON.stringify(this.#current)
    this.#refuseUnusable(this.#current)
  }

  /** Reads the files. Throws `cannot_read_file` if one of them cannot be used. */
  static async open(paths: TlsPaths, log: Pick<Log, 'warn'>): Promise<TlsFiles> {
    const { createSecureContext } = await import('node:tls')
    return new TlsFiles(paths, log, createSecureContext)
  }

  /** The latest usable contents, as the same object until they change. Never throws. */
  get current(): TlsTexts {
    let seen: string | undefined
    try {
      const texts = this.#read()
      seen = JSON.stringify(texts)
      if (seen === this.#seen) return this.#current
      this.#refuseUnusable(texts)
      this.#current = texts
    } catch (error) {
      seen ??= messageOf(error)
      if (seen !== this.#seen) {
        this.#log.warn('cannot use a changed certificate: the previous one stays in use', {
          reason: messageOf(error),
        })
      }
    }
    this.#seen = seen
    return this.#current
  }

  #read(): TlsTexts {
    return Object.fromEntries(
      this.#files.map(([name, file]) => {
        const text = attempt(this.#paths[name], unreadableReason, () => file.content)
        if (text === '') throw unusable(this.#paths[name], 'it is missing or empty')
        return [name, text]
      }),
    )
  }

  #refuseUnusable(texts: TlsTexts): void {
    const { cert: certPath, key: keyPath, ca: caPath } = this.#paths
    const { cert, key, ca } = texts
    if (ca !== undefined) certificateIn(ca, caPath)
    if (cert !== undefined && key !== undefined) {
      const certificate = certificateIn(cert, certPath)
      const isItsKey = certificate.checkPrivateKey(privateKeyIn(key, keyPath))
      if (!isItsKey) throw unusable(keyPath, `it is not the key for ${certPath}`)
    }
    attempt(certPath ?? caPath, messageOf, () => this.#check(texts))
  }
}

function certificateIn(text: string, path: string | undefined): X509Certificate {
  const reason = 'it contains no certificate in PEM format'
  return attempt(path, reason, () => new X509Certificate(text))
}

function privateKeyIn(text: string, path: string | undefined): KeyObject {
  const reason = 'it must contain a private key in PEM format, without a passphrase'
  return attempt(path, reason, () => createPrivateKey(text))
}

function attempt<Result>(
  path: string | undefined,
  reason: string | ((error: unknown) => string),
  work: () => Result,
): Result {
  try {
    return work()
  } catch (error) {
    throw unusable(path, typeof reason === 'string' ? reason : reason(error), error)
  }
}

function unusable(path = '', reason: string, cause?: unknown): EvrouteError {
  const message = `Cannot use ${path}: ${reason}`
  return new EvrouteError({ code: 'cannot_read_file', message, cause })
}
