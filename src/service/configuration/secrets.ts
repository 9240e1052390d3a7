import { resolve } from 'node:path'
import { isJsonObject } from '../../model/index.ts'
import { isReference, readReference, type ReferenceSources } from '../../runtime/index.ts'
import { formatPath, type DocumentPath, type PlacedProblem } from './problem.ts'

/** Where the value of a setting comes from. */
export type SettingOrigin = 'file' | 'default' | `env:${string}` | `@${string}`

/** Access to the variables and files that may hold secrets. */
export interface SecretSources extends ReferenceSources {
  /** The folder that `@file` is relative to. */
  readonly folder: string
}

interface ResolvedDocument {
  /** The document. Unreadable references stay as they are. */
  readonly document: unknown
  readonly origins: ReadonlyMap<string, SettingOrigin>
  readonly problems: readonly PlacedProblem[]
}

/** Paths of secrets. A star stands for any key or index. */
const secretPlaces: readonly DocumentPath[] = [
  ['admin', 'token'],
  ['admin', 'metricsToken'],
  ['network', 'proxy'],
  ['sources', '*', 'writeKeys', '*'],
  ['destinations', '*', 'sharedSecret'],
  ['destinations', '*', 'standardWebhooks', 'secrets', '*'],
  ['destinations', '*', 'endpoints', '*', 'headers', '*'],
]

const storePlace: DocumentPath = ['store']

const urlPlace: DocumentPath = ['destinations', '*', 'endpoints', '*', 'url']

/** Tells whether a path leads to an endpoint's URL. The URL's path and query may be secret. */
export function isEndpointUrl(path: DocumentPath): boolean {
  return urlPlace.length === path.length && leadsTo(path, urlPlace)
}

/** Tells whether a path leads to the URL of the store. */
export function isStoreUrl(path: DocumentPath): boolean {
  return storePlace.length === path.length && leadsTo(path, storePlace)
}

/** Tells whether the value at a path may be a secret, which must never be shown. */
export function isSecretPlace(path: DocumentPath): boolean {
  return secretPlaces.some((place) => place.length === path.length && leadsTo(path, place))
}

/**
 * Tells whether problems must not show the value at a path. The value may be a secret, or may stand in place of an
 * object or a list with secrets.
 */
export function isKeptFromProblems(path: DocumentPath): boolean {
  return [...secretPlaces, storePlace].some((place) => leadsTo(path, place))
}

function leadsTo(path: DocumentPath, place: DocumentPath): boolean {
  return (
    path.length <= place.length &&
    path.every((part, index) => place[index] === '*' || place[index] === part)
  )
}

/** Reads every `env:NAME` and `@file`. An unreadable one stays in the document and becomes a problem. */
export async function resolveSecrets(
  document: unknown,
  sources: SecretSources,
): Promise<ResolvedDocument> {
  const origins = new Map<string, SettingOrigin>()
  const problems: PlacedProblem[] = []
  const reading: Promise<readonly [place: string, text: string]>[] = []
  replaceTexts(document, [], (text, path) => {
    if (isReference(text)) {
      reading.push(read(text, path).then((value) => [formatPath(path), value]))
    }
    return text
  })
  if (reading.length === 0) return { document, origins, problems }
  const texts = new Map(await Promise.all(reading))
  const resolved = replaceTexts(document, [], (text, path) => texts.get(formatPath(path)) ?? text)
  return { document: resolved, origins, problems }

  async function read(text: string, path: DocumentPath): Promise<string> {
    const referenced = await readReference(text, {
      env: sources.env,
      readFile: (file) => sources.readFile(resolve(sources.folder, file)),
    })
    switch (referenced.kind) {
      case 'itself':
        return text
      case 'unreadable':
        problems.push({
          path,
          message: `Cannot read ${referenced.named}: ${referenced.because}`,
          hint: hintFor(referenced.source, sources),
        })
        return text
      case 'read':
        origins.set(formatPath(path), text as SettingOrigin)
        return referenced.value
    }
  }
}

/** Copies a document, replacing texts in places where `env:NAME` or `@file` is allowed. */
function replaceTexts(
  value: unknown,
  path: DocumentPath,
  replace: (text: string, path: DocumentPath) => string,
): unknown {
  if (typeof value === 'string') {
    const isReplaced = isSecretPlace(path) || isStoreUrl(path) || isEndpointUrl(path)
    return isReplaced ? replace(value, path) : value
  }
  if (Array.isArray(value)) {
    return value.map((element, index) => replaceTexts(element, [...path, index], replace))
  }
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      replaceTexts(inner, [...path, key], replace),
    ]),
  )
}

function hintFor(source: 'variable' | 'file', { env }: SecretSources): string {
  if (source === 'file') {
    return '@ names a file, relative to the configuration file. If the value itself begins with @, put it in an environment variable and write env:NAME.'
  }
  return env === undefined
    ? 'Pass the option `env: process.env`, or write a value or @file instead.'
    : 'Set the variable, or write a value or @file instead.'
}
