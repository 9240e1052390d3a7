import { resolve } from 'node:path'
import { isJsonObject } from '../../model/index.ts'
import { isReference, readReference, type ReferenceSources } from '../../runtime/index.ts'
import { formatPath, type DocumentPath, type PlacedProblem } from './problem.ts'

/** The origin of a setting's value. */
export type SettingOrigin = 'file' | 'default' | `env:${string}` | `@${string}`

/** Access to variables and files with secrets. */
export interface SecretSources extends ReferenceSources {
  /** The folder that `@file` is relative to. */
  readonly folder: string
}

/** A document with its secrets read. */
export interface ResolvedDocument {
  /** The document; unreadable references stay unchanged. */
  readonly document: unknown
  /** Origins of values from variables and files, by formatted path. */
  readonly origins: ReadonlyMap<string, SettingOrigin>
  /** The unreadable references. */
  readonly problems: readonly PlacedProblem[]
}

/** Paths of secrets, which can be a value, `env:NAME` or `@file`. A star is any key or index. */
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

/** Whether a path leads to the URL of an endpoint, whose path and query may be secrets. */
export function isEndpointUrl(path: DocumentPath): boolean {
  return urlPlace.length === path.length && leadsTo(path, urlPlace)
}

/** Whether a path leads to the URL of the store. */
export function isStoreUrl(path: DocumentPath): boolean {
  return storePlace.length === path.length && leadsTo(path, storePlace)
}

/** Whether the value at a path may be a secret, which is never shown. */
export function isSecretPlace(path: DocumentPath): boolean {
  return secretPlaces.some((place) => place.length === path.length && leadsTo(path, place))
}

/**
 * Whether a problem must not show the value at a path: it may be a secret, or a secret in the place of the
 * list or object that should contain it.
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

/** Reads every `env:NAME` and `@file`. Never throws. */
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

/** Copies a document, and replaces the texts that may be `env:NAME` or `@file`. */
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
    return 'The path is relative to the configuration. Pass a value that begins with @ as env:NAME.'
  }
  return env === undefined
    ? 'Pass the option `env: process.env`, or give a value or @file.'
    : 'Set it, or give a value or @file.'
}
