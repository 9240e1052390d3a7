import { hiddenEndpoint, isJsonObject, type JsonValue } from '../../model/index.ts'
import { maskedStoreUrl } from '../../store/index.ts'
import { formatPath, type DocumentPath } from './problem.ts'
import { isEndpointUrl, isSecretPlace, isStoreUrl, type SettingOrigin } from './secrets.ts'

/** One setting that is in force. */
export interface EffectiveSetting {
  /** Its place, such as `destinations[0].endpoints[1].url`. */
  readonly path: string
  /** What holds; {@link maskedValue} where it, or a part of a URL, may be a secret; null for none. */
  readonly value: JsonValue
  /** Where it comes from. */
  readonly origin: SettingOrigin
}

/** What is shown in the place of a secret, whatever its length. */
export const maskedValue = '********'

/** What settings are listed from. */
export interface SettingsRequest {
  /** The document with every default filled in. */
  readonly effective: object
  /** The document as the file has it. */
  readonly given: unknown
  /** Where secrets came from, by their paths. */
  readonly secretOrigins: ReadonlyMap<string, SettingOrigin>
}

/** Every setting in force, secrets masked, in the order of the schema. */
export function effectiveSettings(request: SettingsRequest): readonly EffectiveSetting[] {
  const { effective, given, secretOrigins } = request
  return list(effective as unknown as JsonValue, given, [])

  function list(value: JsonValue, inFile: unknown, path: DocumentPath): EffectiveSetting[] {
    const entries = isOneSetting(value, path) ? undefined : Object.entries(value as object)
    if (entries === undefined || entries.length === 0) return [settingAt(value, inFile, path)]
    return entries.flatMap(([key, inner]: [string, JsonValue]) =>
      list(inner, memberOf(inFile, key), [...path, Array.isArray(value) ? Number(key) : key]),
    )
  }

  function settingAt(value: JsonValue, inFile: unknown, path: DocumentPath): EffectiveSetting {
    const formatted = formatPath(path)
    const fromFile = inFile === undefined ? 'default' : 'file'
    return {
      path: formatted,
      value: shownSetting(value, path),
      origin: secretOrigins.get(formatted) ?? fromFile,
    }
  }
}

function shownSetting(value: JsonValue, path: DocumentPath): JsonValue {
  if (isSecretPlace(path)) return value === null ? null : maskedValue
  if (typeof value !== 'string') return value
  if (isStoreUrl(path)) return maskedStoreUrl(value, maskedValue)
  return isEndpointUrl(path) ? hiddenEndpoint(value) : value
}

/** A scalar, or a list of scalars that all come from the same place. */
function isOneSetting(value: JsonValue, path: DocumentPath): boolean {
  if (Array.isArray(value)) {
    return !isSecretPlace([...path, 0]) && value.every((element) => typeof element !== 'object')
  }
  return !isJsonObject(value)
}

function memberOf(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return value[Number(key)] as unknown
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}
