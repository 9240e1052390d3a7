import { dirname, join, resolve } from 'node:path'
import { EvrouteError, messageOf, systemCode } from '../../model/index.ts'
import { Breather, unreadableReason, type ReferenceSources } from '../../runtime/index.ts'
import type { Configuration } from './configuration.ts'
import type { JsonOutcome } from './read-json.ts'
import { formatPath, type ConfigurationProblem, type PlacedProblem } from './problem.ts'
import { mayBeSecret, resolveSecrets, type SecretSources } from './secrets.ts'
import { effectiveSettings, type EffectiveSetting } from './settings.ts'

/** A configuration, or the problems that make it invalid. */
export type ConfigurationOutcome =
  | {
      readonly kind: 'valid'
      readonly configuration: Configuration
      /** All settings with their origins. Secrets are masked. */
      readonly settings: readonly EffectiveSetting[]
    }
  | {
      readonly kind: 'invalid'
      readonly problems: readonly ConfigurationProblem[]
    }

/** Reads and checks a configuration file, without looking up host names. Throws `cannot_read_file`. */
export async function readConfiguration(
  path: string,
  sources: ReferenceSources,
): Promise<ConfigurationOutcome> {
  const json = await parse(await readText(path, sources))
  if (json.kind === 'value') {
    return checkGiven(json.value, { ...sources, folder: dirname(resolve(path)) })
  }
  const { line, column, hint } = json
  const message = `Cannot read the file as JSON at line ${line}, column ${column}`
  return { kind: 'invalid', problems: [{ path: '', message, hint }] }
}

/** Checks a configuration that is given as an object. Values that JSON can't represent are dropped. */
export async function checkConfiguration(
  given: unknown,
  sources: SecretSources,
): Promise<ConfigurationOutcome> {
  let document: unknown
  try {
    const text = JSON.stringify(given) as string | undefined
    document = text === undefined ? undefined : JSON.parse(text)
  } catch (error) {
    const message = `Cannot write the configuration as JSON: ${messageOf(error)}`
    const hint = 'Pass the content of a configuration file as an object.'
    return { kind: 'invalid', problems: [{ path: '', message, hint }] }
  }
  return checkGiven(document, sources)
}

/** The JSON Schema of a configuration file. */
export async function configurationSchema(): Promise<object> {
  const { documentJsonSchema } = await import('./document.ts')
  return documentJsonSchema()
}

async function checkGiven(given: unknown, sources: SecretSources): Promise<ConfigurationOutcome> {
  // Load the checks only when they are needed, because zod is slow to load. Import one after the other, because
  // overlapping imports of zod fail in Jest.
  const { checkDocument } = await import('./check-document.ts')
  const { checkReferences } = await import('./references.ts')
  const { configurationOf, locate } = await import('./configuration.ts')
  const breather = new Breather()
  const resolved = await resolveSecrets(given, sources)
  await breather.breathe()
  const checked = checkDocument(given, mayBeSecret)
  const problems = [
    ...resolved.problems,
    ...(checked.kind === 'invalid' ? checked.problems : []),
    ...(await checkReferences(given, breather)),
  ]
  if (checked.kind === 'invalid' || problems.length > 0) {
    return { kind: 'invalid', problems: presentable(problems) }
  }
  const effective = locate(checked.document, sources.folder)
  const configuration = await configurationOf(effective, breather)
  return {
    kind: 'valid',
    configuration,
    // A getter, because listing the settings of 5,000 destinations takes as long as everything else here.
    get settings() {
      const settings = effectiveSettings({ effective, given, secretOrigins: resolved.origins })
      // Leave out $schema, which only editors need.
      return settings.filter((setting) => setting.path !== '$schema')
    },
  }
}

async function readText(path: string, { readFile }: ReferenceSources): Promise<string> {
  try {
    const text = await readFile(path)
    return text.replace(/^\uFEFF/, '')
  } catch (error) {
    throw new EvrouteError({
      code: 'cannot_read_file',
      message: `Cannot read ${path}: ${unreadableReason(error)}`,
      hint: hintFor(systemCode(error), path),
      cause: error,
    })
  }
}

function hintFor(code: string | undefined, path: string): string {
  if (code === 'ENOENT') return 'Create one with `evroute init`, or name a different file.'
  if (code === 'EISDIR') return `Name a file in it, such as ${join(path, 'evroute.config.json')}.`
  return 'Check that it is a readable file.'
}

async function parse(text: string): Promise<JsonOutcome> {
  try {
    const value: unknown = JSON.parse(text)
    // JSON.parse drops repeated keys, so the value then has fewer keys than the text.
    const strings = text.match(/"(?:[^"\\]|\\.)*"(?:\s*:)?/g) ?? []
    if (strings.filter((each) => each.endsWith(':')).length === keyCount(value)) {
      return { kind: 'value', value }
    }
  } catch {
    // It may have comments.
  }
  // Most files have neither comments nor repeated keys. Load the slower parser only for those that do.
  const { readJson } = await import('./read-json.ts')
  return readJson(text)
}

function keyCount(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce((sum: number, inner) => sum + keyCount(inner), own)
}

/** Keeps the first problem of each path, because later ones only follow from it. Sorts by path. */
function presentable(problems: readonly PlacedProblem[]): readonly ConfigurationProblem[] {
  const byPath = new Map<string, ConfigurationProblem>()
  for (const { path, message, hint } of problems) {
    const formatted = formatPath(path)
    if (!byPath.has(formatted)) byPath.set(formatted, { path: formatted, message, hint })
  }
  // Sort `sources[2]` before `sources[10]`.
  const collator = new Intl.Collator('en', { numeric: true })
  return [...byPath.values()].sort((a, b) => collator.compare(a.path, b.path))
}
