import { documentJsonSchema } from '../../../src/service/configuration/document.ts'
import { code, generatedNotice, page, table } from './markdown.ts'

/** What the page uses of a JSON Schema. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** The settings of a service, from the JSON Schema of its file. */
export function configurationPage(): string {
  const { properties = {}, required = [] } = documentJsonSchema() as Schema
  const sections = Object.entries(properties).map(([name, schema]) => {
    const rows = settingsOf({ path: name, schema, isRequired: required.includes(name) })
    return `## \`${name}\`\n\n${table(['setting', 'value', 'default', 'meaning'], rows)}`
  })
  return page([
    generatedNotice,
    '# Which settings does a service have?',
    'Settings are in `evroute.config.json`, which may have comments and trailing commas. `evroute init` writes a short one, and `evroute init --full` one with every setting. `evroute config` shows every setting in force and where it comes from. A duration is a number with `ms`, `s`, `m`, `h` or `d`. A secret can be given as the value itself, `env:NAME` or `@file`.',
    ...sections,
  ])
}

interface Setting {
  readonly path: string
  readonly schema: Schema
  readonly isRequired: boolean
}

/** A setting and those inside it, a row each. */
function settingsOf(setting: Setting): readonly (readonly string[])[] {
  const { path, schema, isRequired } = setting
  const row = [code(path), valueOf(schema), defaultOf(schema, isRequired), schema.description ?? '']
  return [row, ...innerSettings(path, schema)]
}

function innerSettings(path: string, schema: Schema): readonly (readonly string[])[] {
  const { properties, required = [], items, anyOf = [] } = schema
  if (items !== undefined) return innerSettings(`${path}[]`, items)
  if (properties === undefined) return anyOf.flatMap((each) => innerSettings(path, each))
  return Object.entries(properties).flatMap(([name, inner]) =>
    settingsOf({ path: `${path}.${name}`, schema: inner, isRequired: required.includes(name) }),
  )
}

function valueOf(schema: Schema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(valueOf).join(' or ')
  if (schema.const !== undefined) return code(JSON.stringify(schema.const))
  if (schema.enum !== undefined)
    return schema.enum.map((each) => code(JSON.stringify(each))).join(', ')
  if (schema.items !== undefined) return listOf(schema, schema.items)
  return `${[schema.type ?? 'any'].flat().join(' or ')}${rangeOf(schema.minimum, schema.maximum)}`
}

function listOf({ minItems, maxItems }: Schema, items: Schema): string {
  return `list of ${valueOf(items)}${rangeOf(minItems, maxItems)}`
}

function rangeOf(minimum: number | undefined, maximum: number | undefined): string {
  if ((minimum ?? 0) === 0 && maximum === undefined) return ''
  if (maximum === undefined) return `, at least ${minimum ?? 0}`
  return `, ${minimum ?? 'up'} to ${maximum}`
}

function defaultOf(schema: Schema, isRequired: boolean): string {
  if (isRequired) return 'required'
  return schema.default === undefined || isEmptyObject(schema.default)
    ? ''
    : code(JSON.stringify(schema.default))
}

function isEmptyObject(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).length === 0
  )
}
