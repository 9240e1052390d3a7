import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { readConfiguration } from '../../../src/service/index.ts'
import { documentJsonSchema } from '../../../src/service/configuration/document.ts'
import { readJson } from '../../../src/service/configuration/read-json.ts'
import { run, start } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

type Document = Readonly<Record<string, unknown>>

/** Writes a configuration in a new folder, and returns its path. */
async function written(...flags: readonly string[]): Promise<string> {
  const path = join(await temporaryFolder(), 'evroute.config.json')
  expect(await run(['init', '--config', path, ...flags])).toMatchObject({ code: 0, stderr: '' })
  return path
}

function valueIn(text: string): Document {
  const outcome = readJson(text)
  if (outcome.kind === 'invalid') throw new Error(`line ${outcome.line}: ${outcome.hint ?? ''}`)
  return outcome.value as Document
}

/** Every setting of a schema, with its value in a document. */
function settings(schema: Schema, value: unknown, path = ''): readonly [string, unknown][] {
  const { properties = {}, items, anyOf = [] } = schema
  if (items !== undefined)
    return settings(items, (value as readonly unknown[] | undefined)?.[0], `${path}[]`)
  return [
    ...anyOf.flatMap((each) => settings(each, value, path)),
    ...Object.entries(properties).flatMap(([name, inner]) => {
      const within = (value as Document | undefined)?.[name]
      return [
        [`${path}.${name}`, within] as [string, unknown],
        ...settings(inner, within, `${path}.${name}`),
      ]
    }),
  ]
}

const schema = documentJsonSchema() as Schema

test('the full configuration has every setting with its description, most of them in force', async () => {
  const text = await readFile(await written('--full'), 'utf8')
  // The comments that are settings begin with a quotation mark, or close a section.
  const uncommented = text.replaceAll(/^( *)\/\/(?= *["}\]{])/gm, '$1')
  // An uncommented section replaces the value in force.
  const all = valueIn(uncommented.replaceAll(/^ *("\w+": ).*,\n(?= *\1)/gm, ''))
  const found = settings(schema, all)
  expect(found.length).toBeGreaterThan(50)
  expect(found.filter(([, value]) => value === undefined)).toEqual([])
  const inForce = settings(schema, valueIn(text)).filter(([, value]) => value !== undefined)
  expect(inForce.length).toBeGreaterThan(35)
  const prose = text.replaceAll(/\s+(\/\/\s+)*/g, ' ')
  for (const { description } of described(schema)) expect(prose).toContain(description)
  expect(text.split('\n').every((line) => line.length <= 120)).toBe(true)
  const editor = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema)
  expect(editor.safeParse(all)).toMatchObject({ success: true })
  expect(editor.safeParse(valueIn(text))).toMatchObject({ success: true })
})

function described(node: Schema): readonly Schema[] {
  const { properties = {}, items, anyOf = [] } = node
  const inner = [...Object.values(properties), ...anyOf, ...(items === undefined ? [] : [items])]
  return [...(node.description === undefined ? [] : [node]), ...inner.flatMap(described)]
}

test('the full configuration sets the settings that the starter leaves to their defaults', async () => {
  const read = async (path: string) => {
    const outcome = await readConfiguration(path, {
      env: {},
      readFile: (file) => readFile(file, 'utf8'),
    })
    if (outcome.kind === 'invalid') throw new Error(JSON.stringify(outcome.problems))
    return outcome.settings.map(({ path: setting, value }) => [setting, value])
  }
  const full = await written('--full')
  const values = await read(full)
  await run(['init', '--force', '--config', full])
  expect(values).toEqual(await read(full))
})

test('a service starts with the full configuration', async () => {
  const path = await written('--full')
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replaceAll(/"port": \d+/g, '"port": 0'))
  const service = start(['serve', '--config', path, '--json'])
  onTestFinished(() => service.stop())
  const { url } = await service.stdout.record('ready')
  expect(await fetch(new URL('/readyz', url as string))).toMatchObject({ status: 200 })
  service.stop()
  expect(await service.ended).toMatchObject({ code: 0 })
})
