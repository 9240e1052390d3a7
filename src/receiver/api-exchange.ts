import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { SettingError, type JsonValue } from '../model/index.ts'

/** The paths of the API begin with this. */
export const apiPrefix = '/_evroute/'
/** The paths of its actions begin with this. */
export const actionsPrefix = '/_evroute/actions/'

/** Resolves when a response takes more, or is closed. */
export async function drained(response: ServerResponse): Promise<void> {
  // Neither event comes again.
  if (response.destroyed) return
  const over = new AbortController()
  const settled = ['drain', 'close'].map((name) => once(response, name, { signal: over.signal }))
  await Promise.race(settled.map((each) => each.catch(() => undefined)))
  over.abort()
}

/**
 * Reads the values of a query.
 *
 * @throws SettingError for a name that is not known, or there twice
 */
export function readQuery<Name extends string>(
  query: URLSearchParams,
  known: readonly Name[],
): Readonly<Partial<Record<Name, string>>> {
  const values: Partial<Record<Name, string>> = {}
  for (const [name, value] of query) {
    const found = known.find((each) => each === name)
    if (found === undefined || values[found] !== undefined) {
      const reason = found === undefined ? 'it is not known here' : 'it is there twice'
      throw new SettingError(name, `Cannot use ${name}: ${reason}`, `Use ${known.join(', ')}.`)
    }
    values[found] = value
  }
  return values
}

/** Reads JSON; undefined where it is none. */
export function parsedJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}
