import { isJsonObject, type JsonValue } from '../../model/index.ts'
import { formatPath, type DocumentPath } from './problem.ts'
import { secretSettingAt, type SettingOrigin } from './secrets.ts'

/** A setting and its value in force. */
export interface EffectiveSetting {
  /** A path such as `destinations[0].endpoints[1].url`. */
  readonly path: string
  /** The value; null for none. Secrets, and secret parts of URLs, are masked. */
  readonly value: JsonValue
  /** Where the value comes from. */
  readonly origin: SettingOrigin
}

/** Lists the settings in force, in the order of the schema. Secrets are masked. */
export function effectiveSettings({
  effective,
  given,
  secretOrigins,
}: {
  readonly effective: object
  readonly given: unknown
  readonly secretOrigins: ReadonlyMap<string, SettingOrigin>
}): readonly EffectiveSetting[] {
  return list(effective as unknown as JsonValue, given, [])

  function list(value: JsonValue, inFile: unknown, path: DocumentPath): EffectiveSetting[] {
    const entries = isOneSetting(value, path) ? [] : Object.entries(value as object)
    if (entries.length > 0) {
      return entries.flatMap(([key, inner]: [string, JsonValue]) =>
        list(inner, memberOf(inFile, key), [...path, Array.isArray(value) ? Number(key) : key]),
      )
    }
    const formatted = formatPath(path)
    const origin = secretOrigins.get(formatted) ?? (inFile === undefined ? 'default' : 'file')
    const shown = typeof value === 'string' ? secretSettingAt(path)?.shown(value) : undefined
    return [{ path: formatted, value: shown ?? value, origin }]
  }
}

/** Whether a value is listed as one setting: a scalar, or a list of scalars that are not secrets. */
function isOneSetting(value: JsonValue, path: DocumentPath): boolean {
  if (Array.isArray(value)) {
    return (
      secretSettingAt([...path, 0]) === undefined &&
      value.every((element) => typeof element !== 'object')
    )
  }
  return !isJsonObject(value)
}

function memberOf(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return value[Number(key)] as unknown
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}
