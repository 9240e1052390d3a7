import { isJsonObject, type JsonObject, type JsonValue } from '../../model/index.ts'

/** A setting in the JSON Schema of the configuration. */
export interface SettingSchema {
  readonly description?: string
  readonly default?: JsonValue
  readonly examples?: readonly JsonValue[]
  readonly properties?: Readonly<Record<string, SettingSchema>>
  readonly items?: SettingSchema
  readonly anyOf?: readonly SettingSchema[]
}

interface Described {
  readonly schema: SettingSchema
  readonly value: JsonValue
  /** Whether the value is already in a comment, so that its examples need no `//`. */
  readonly isOff: boolean
}

const columnsMax = 96

/** Formats a configuration with every setting in the schema: its value, its default, or an example in a comment. */
export function fullConfiguration(given: JsonObject, schema: SettingSchema): string {
  return `${valueLines({ schema, value: given, isOff: false }).join('\n')}\n`
}

function valueLines({ schema, value, isOff }: Described): readonly string[] {
  const { properties } = sectionOf(schema) ?? {}
  if (properties !== undefined && isJsonObject(value)) {
    const lines = Object.entries(properties).flatMap(([name, inner]) => [
      ...wrapped(inner.description ?? '').map((line) => `// ${line}`),
      ...settingLines(name, { schema: inner, value: value[name] ?? inner.default, isOff }),
    ])
    return ['{', ...indented(lines), '}']
  }
  const { items } = schema
  if (items?.properties !== undefined && Array.isArray(value)) {
    const elements: readonly JsonValue[] = value
    const lines = elements.flatMap((each) =>
      withComma(valueLines({ schema: items, value: each, isOff })),
    )
    return ['[', ...indented(lines), ']']
  }
  return [JSON.stringify(value)]
}

/** Formats a setting. Adds an example in a comment if the setting is unset, or is a section that is off. */
function settingLines(
  name: string,
  { schema, value, isOff }: Omit<Described, 'value'> & { readonly value: JsonValue | undefined },
): readonly string[] {
  const named = (described: Described): readonly string[] => {
    const [first = '', ...rest] = withComma(valueLines(described))
    return [`"${name}": ${first}`, ...rest]
  }
  const isSection = sectionOf(schema) !== undefined
  const lines = value === undefined ? [] : named({ schema, value, isOff })
  if (value !== undefined && (!isSection || isJsonObject(value))) return lines
  const other = named({ schema, value: schema.examples?.[0] ?? {}, isOff: true })
  if (isOff) return value === undefined ? other : lines
  return [...lines, ...other.map((line) => `// ${line}`)]
}

/** Returns the schema of a setting that is, or can be, a section. */
function sectionOf({ anyOf = [], ...schema }: SettingSchema): SettingSchema | undefined {
  return [schema, ...anyOf].find(({ properties }) => properties !== undefined)
}

function withComma(lines: readonly string[]): readonly string[] {
  return lines.map((line, index) => (index === lines.length - 1 ? `${line},` : line))
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`)
}

function wrapped(text: string): readonly string[] {
  return text.match(new RegExp(`\\S.{0,${columnsMax - 1}}(?=\\s|$)`, 'g')) ?? []
}
