import { dirname, join, resolve } from 'node:path'
import { EvrouteError, messageOf, systemCode } from '../../model/index.ts'
import { Breather, unreadableReason } from '../../runtime/index.ts'
import type { Configuration } from './configuration.ts'
import { findJsonError } from './json-error.ts'
import { formatPath, type ConfigurationProblem, type PlacedProblem } from './problem.ts'
import { isKeptFromProblems, resolveSecrets, type SecretSources } from './secrets.ts'
import { effectiveSettings, type EffectiveSetting } from './settings.ts'

/** What a configuration is read with. */
export type ConfigurationSurroundings = Pick<SecretSources, 'env' | 'readFile'>

/** What became of a configuration. */
export type ConfigurationOutcome =
  | {
      /** It can be used. */
      readonly kind: 'valid'
      /** Checked and frozen. */
      readonly configuration: Configuration
      /** Every setting in force and where it comes from, secrets masked. */
      readonly settings: readonly EffectiveSetting[]
    }
  | {
      /** It cannot be used. */
      readonly kind: 'invalid'
      /** All that is wrong, at least one thing. */
      readonly problems: readonly ConfigurationProblem[]
    }

/**
 * Reads and checks the configuration of a service. Names of hosts are not looked up.
 *
 * @param path - the file; the paths in it are relative to its folder
 * @throws EvrouteError `cannot_read_file` when the file itself cannot be read
 */
export async function readConfiguration(
  path: string,
  surroundings: ConfigurationSurroundings,
): Promise<ConfigurationOutcome> {
  const text = await readText(path, surroundings)
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    return { kind: 'invalid', problems: [jsonProblem(text)] }
  }
  return checkGiven(given, { ...surroundings, folder: dirname(resolve(path)) })
}

/**
 * Checks a configuration that is no file but what one could hold, as {@link readConfiguration} does. What
 * JSON leaves out is left out.
 */
export async function checkConfiguration(
  given: unknown,
  sources: SecretSources,
): Promise<ConfigurationOutcome> {
  let document: unknown
  try {
    const text = JSON.stringify(given) as string | undefined
    document = text === undefined ? undefined : JSON.parse(text)
  } catch (error) {
    const message = `Cannot write it as JSON: ${messageOf(error)}`
    const hint = 'Give what a configuration file could hold.'
    return { kind: 'invalid', problems: [{ path: '', message, hint }] }
  }
  return checkGiven(document, sources)
}

async function checkGiven(given: unknown, sources: SecretSources): Promise<ConfigurationOutcome> {
  // Loaded only where there is something to check: the library behind it takes its time.
  const [{ checkDocument }, { checkReferences }, { configurationOf, locate }] = await Promise.all([
    import('./check-document.ts'),
    import('./references.ts'),
    import('./configuration.ts'),
  ])
  const breather = new Breather()
  const resolved = await resolveSecrets(given, sources)
  await breather.breathe()
  const checked = checkDocument(resolved.document, isKeptFromProblems)
  const problems = [
    ...resolved.problems,
    ...(checked.kind === 'invalid' ? checked.problems : []),
    ...(await checkReferences(resolved.document, breather)),
  ]
  if (checked.kind === 'invalid' || problems.length > 0) {
    return { kind: 'invalid', problems: presentable(problems) }
  }
  const effective = locate(checked.document, sources.folder)
  const configuration = await configurationOf(effective, breather)
  return {
    kind: 'valid',
    configuration,
    // Only when asked for: to list those of 5,000 destinations takes as long as all the rest.
    get settings() {
      const settings = effectiveSettings({ effective, given, secretOrigins: resolved.origins })
      // Editors need it; the service does not.
      return settings.filter((setting) => setting.path !== '$schema')
    },
  }
}

async function readText(path: string, { readFile }: ConfigurationSurroundings): Promise<string> {
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
  if (code === 'ENOENT') return 'Make one with `evroute init`, or name another file.'
  if (code === 'EISDIR') return `Name a file in it, such as ${join(path, 'evroute.config.json')}.`
  return 'Check that it is a file that may be read.'
}

function jsonProblem(text: string): ConfigurationProblem {
  const error = findJsonError(text)
  const place = error === undefined ? '' : ` at line ${error.line}, column ${error.column}`
  return { path: '', message: `Cannot read it as JSON${place}`, hint: error?.hint }
}

/** One problem for each place, in the order of the places: what comes after the first follows from it. */
function presentable(problems: readonly PlacedProblem[]): readonly ConfigurationProblem[] {
  const byPath = new Map<string, ConfigurationProblem>()
  for (const { path, message, hint } of problems) {
    const formatted = formatPath(path)
    if (!byPath.has(formatted)) byPath.set(formatted, { path: formatted, message, hint })
  }
  return [...byPath.values()].sort((a, b) => collator.compare(a.path, b.path))
}

/** `sources[2]` comes before `sources[10]`. */
const collator = new Intl.Collator('en', { numeric: true })
