import { resolve } from 'node:path'
import { isJsonObject, messageOf, systemCode } from '../../model/index.ts'
import { formatPath, type DocumentPath, type PlacedProblem } from './problem.ts'

/** Where the value of a setting comes from. */
export type SettingOrigin = 'file' | 'default' | `env:${string}` | `@${string}`

/** What secrets are read from. */
export interface SecretSources {
  /** The environment's variables. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Reads a file as text. */
  readonly readFile: (path: string) => Promise<string>
  /** The folder that `@file` is relative to. */
  readonly folder: string
}

/** A document with its secrets read. */
export interface ResolvedDocument {
  /** The document; what could not be read stands as it was. */
  readonly document: unknown
  /** Where secrets came from that do not stand in the file, by their formatted paths. */
  readonly origins: ReadonlyMap<string, SettingOrigin>
  /** What could not be read. */
  readonly problems: readonly PlacedProblem[]
}

/** The places that take a value, `env:NAME` or `@file`. A star is any key or index. */
const secretPlaces: readonly DocumentPath[] = [
  ['admin', 'token'],
  ['sources', '*', 'writeKeys', '*'],
  ['destinations', '*', 'sharedSecret'],
  ['destinations', '*', 'standardWebhooks', 'secrets', '*'],
  ['destinations', '*', 'endpoints', '*', 'headers', '*'],
]

/** Whether the value at a place may be a secret, and so is never shown. */
export function isSecretPlace(path: DocumentPath): boolean {
  return secretPlaces.some(
    (place) =>
      place.length === path.length &&
      place.every((part, index) => part === '*' || part === path[index]),
  )
}

/** Reads every `env:NAME` and `@file` where one may stand. Never throws. */
export async function resolveSecrets(
  document: unknown,
  sources: SecretSources,
): Promise<ResolvedDocument> {
  const origins = new Map<string, SettingOrigin>()
  const problems: PlacedProblem[] = []
  return { document: await visit(document, []), origins, problems }

  async function visit(value: unknown, path: DocumentPath): Promise<unknown> {
    if (typeof value === 'string') return isSecretPlace(path) ? read(value, path) : value
    if (Array.isArray(value)) {
      return Promise.all(value.map((element, index) => visit(element, [...path, index])))
    }
    if (!isJsonObject(value)) return value
    const entries = Object.entries(value).map(
      async ([key, inner]) => [key, await visit(inner, [...path, key])] as const,
    )
    return Object.fromEntries(await Promise.all(entries))
  }

  async function read(text: string, path: DocumentPath): Promise<string> {
    const secret = await readReference(text, sources)
    if (secret === undefined) return text
    if (secret.kind === 'unreadable') {
      problems.push({ path, message: secret.message, hint: secret.hint })
      return text
    }
    origins.set(formatPath(path), text as SettingOrigin)
    return secret.value
  }
}

type Secret =
  | { readonly kind: 'read'; readonly value: string }
  | { readonly kind: 'unreadable'; readonly message: string; readonly hint: string }

/** The value that a text refers to; undefined when it refers to nothing. */
async function readReference(text: string, sources: SecretSources): Promise<Secret | undefined> {
  if (text.startsWith('env:')) return readVariable(text.slice('env:'.length), sources)
  return text.startsWith('@') ? readSecretFile(text.slice(1), sources) : undefined
}

function readVariable(name: string, { env }: SecretSources): Secret {
  const value = env[name]
  if (value !== undefined && value !== '') return { kind: 'read', value }
  return {
    kind: 'unreadable',
    message: `Cannot read the environment variable ${name}: it is ${value === '' ? 'empty' : 'not set'}`,
    hint: 'Set it, or give a value or @file.',
  }
}

async function readSecretFile(path: string, sources: SecretSources): Promise<Secret> {
  const reason = (why: string): Secret => ({
    kind: 'unreadable',
    message: `Cannot read the file ${path}: ${why}`,
    hint: 'It is relative to the configuration. A value that begins with @ is given through env:NAME.',
  })
  try {
    const text = await sources.readFile(resolve(sources.folder, path))
    const value = text.replace(/\r?\n$/, '')
    return value === '' ? reason('it is empty') : { kind: 'read', value }
  } catch (error) {
    return reason(systemCode(error) === 'ENOENT' ? 'there is no such file' : messageOf(error))
  }
}
