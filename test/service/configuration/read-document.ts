import { readConfiguration, type ConfigurationOutcome } from '../../../src/service/index.ts'

/** The variables and files that a configuration refers to. */
export interface References {
  /** Environment variables; none by default. */
  readonly env?: Readonly<Record<string, string>>
  /** Contents of other files, by absolute path. */
  readonly files?: Readonly<Record<string, string>>
}

export const folder = '/srv/evroute'

/** Reads a document, or its text, as /srv/evroute/evroute.config.json. */
export function readDocument(
  document: unknown,
  { env = {}, files = {} }: References = {},
): Promise<ConfigurationOutcome> {
  const path = `${folder}/evroute.config.json`
  const text = typeof document === 'string' ? document : JSON.stringify(document)
  const texts: Readonly<Record<string, string>> = { ...files, [path]: text }
  return readConfiguration(path, {
    env,
    readFile: (file) => {
      const found = texts[file]
      if (found !== undefined) return Promise.resolve(found)
      return Promise.reject(Object.assign(new Error(`ENOENT: ${file}`), { code: 'ENOENT' }))
    },
  })
}

/** Reads a valid configuration. */
export async function readValid(
  document: unknown,
  references?: References,
): Promise<Extract<ConfigurationOutcome, { kind: 'valid' }>> {
  const outcome = await readDocument(document, references)
  if (outcome.kind === 'valid') return outcome
  throw new Error(`It is invalid: ${JSON.stringify(outcome.problems)}`)
}

/** Every problem of a document as `path: message`. */
export async function problemsOf(
  document: unknown,
  references?: References,
): Promise<readonly string[]> {
  const outcome = await readDocument(document, references)
  if (outcome.kind === 'valid') return []
  return outcome.problems.map(({ path, message }) => `${path}: ${message}`)
}

/** Settings of the only source, the only destination, and whole sections. */
export interface GivenSettings {
  readonly source?: object
  readonly destination?: object
  readonly [section: string]: unknown
}

/** The smallest source and destination, with these settings overridden. */
export function documentWith(given: GivenSettings): object {
  const { source = {}, destination = {}, ...others } = given
  return {
    sources: [{ id: 'website', writeKeys: ['wk_example'], ...source }],
    destinations: [
      {
        id: 'crm',
        type: 'Webhooks',
        sources: ['website'],
        endpoints: [{ url: 'https://example.com/hook' }],
        ...destination,
      },
    ],
    ...others,
  }
}
