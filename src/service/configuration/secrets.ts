import { resolve } from 'node:path'
import { hiddenEndpoint } from '../../model/index.ts'
import { isReference, readReference, type ReferenceSources } from '../../runtime/index.ts'
import { maskedStoreUrl } from '../../store/index.ts'
import {
  formatPath,
  textsAt,
  valuesAt,
  type DocumentPath,
  type Placed,
  type PlacedProblem,
} from './problem.ts'

/** Where the value of a setting comes from. */
export type SettingOrigin = 'file' | 'default' | `env:${string}` | `@${string}`

/** Access to the variables and files that may hold secrets. */
export interface SecretSources extends ReferenceSources {
  /** The folder that `@file` is relative to. */
  readonly folder: string
}

interface ResolvedSecrets {
  /** The `env:NAME` or `@file` that each resolved value came from, by formatted path. */
  readonly origins: ReadonlyMap<string, SettingOrigin>
  readonly problems: readonly PlacedProblem[]
}

/** A setting that may be `env:NAME` or `@file`, and whose value must not be shown as it is. */
interface SecretSetting {
  /** A star stands for any key or index. */
  readonly pattern: DocumentPath
  /** Formats the value without its secret parts. */
  readonly shown: (text: string) => string
}

const maskedValue = '********'
const masked = (): string => maskedValue

const secretSettings: readonly SecretSetting[] = [
  { pattern: ['admin', 'token'], shown: masked },
  { pattern: ['admin', 'metricsToken'], shown: masked },
  {
    pattern: ['network', 'proxy'],
    shown: (url) => url.replace(/\/\/.*@/, `//${maskedValue}@`),
  },
  { pattern: ['store'], shown: (url) => maskedStoreUrl(url, maskedValue) },
  { pattern: ['sources', '*', 'writeKeys', '*'], shown: masked },
  { pattern: ['destinations', '*', 'sharedSecret'], shown: masked },
  { pattern: ['destinations', '*', 'standardWebhooks', 'secrets', '*'], shown: masked },
  { pattern: ['destinations', '*', 'endpoints', '*', 'headers', '*'], shown: masked },
]

/** Not in `secretSettings`, so that problems may quote a value that isn't a URL at all, such as a number. */
const endpointUrl: SecretSetting = {
  pattern: ['destinations', '*', 'endpoints', '*', 'url'],
  shown: hiddenEndpoint,
}

const allSecretSettings: readonly SecretSetting[] = [...secretSettings, endpointUrl]

/** Returns the secret setting at a path; undefined if its value is not secret. */
export function secretSettingAt(path: DocumentPath): SecretSetting | undefined {
  return allSecretSettings.find(
    ({ pattern }) => pattern.length === path.length && leadsTo(path, pattern),
  )
}

/**
 * Whether a value may be a secret. Also true for the parents of a secret's path, because the secret may stand where an
 * object belongs.
 */
export function mayBeSecret(path: DocumentPath): boolean {
  return secretSettings.some(({ pattern }) => leadsTo(path, pattern))
}

function leadsTo(path: DocumentPath, pattern: DocumentPath): boolean {
  return (
    path.length <= pattern.length &&
    path.every((part, index) => pattern[index] === '*' || pattern[index] === part)
  )
}

/** Replaces every `env:NAME` and `@file` in a document with its value. Unreadable ones stay and become problems. */
export async function resolveSecrets(
  document: unknown,
  sources: SecretSources,
): Promise<ResolvedSecrets> {
  const origins = new Map<string, SettingOrigin>()
  const problems: PlacedProblem[] = []
  const texts = allSecretSettings.flatMap(({ pattern }) =>
    textsAt({ path: [], value: document }, pattern),
  )
  await Promise.all(texts.filter(({ value }) => isReference(value)).map(resolveAt))
  return { origins, problems }

  async function resolveAt({ path, value }: Placed<string>): Promise<void> {
    const referenced = await readReference(value, {
      env: sources.env,
      readFile: (file) => sources.readFile(resolve(sources.folder, file)),
    })
    switch (referenced.kind) {
      case 'itself':
        return
      case 'unreadable':
        problems.push({
          path,
          message: `Cannot read ${referenced.named}: ${referenced.because}`,
          hint: hintFor(referenced.source, sources),
        })
        return
      case 'read':
        origins.set(formatPath(path), value as SettingOrigin)
        replaceAt(document, path, referenced.value)
    }
  }
}

function replaceAt(document: unknown, path: DocumentPath, text: string): void {
  const [holder] = valuesAt({ path: [], value: document }, path.slice(0, -1))
  ;(holder?.value as Record<string | number, unknown>)[path.at(-1) ?? ''] = text
}

function hintFor(source: 'variable' | 'file', { env }: SecretSources): string {
  if (source === 'file') {
    return '@ names a file, relative to the configuration file. If the value itself begins with @, put it in an environment variable and write env:NAME.'
  }
  return env === undefined
    ? 'Pass the option `env: process.env`, or write a value or @file instead.'
    : 'Set the variable, or write a value or @file instead.'
}
