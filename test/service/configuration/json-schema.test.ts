import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { starterConfiguration } from '../../../src/cli/configuration/init.ts'
import { documentJsonSchema } from '../../../src/service/configuration/document.ts'
import { documentWith } from './read-document.ts'

interface Node {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  readonly anyOf?: readonly Node[]
}

const schema = documentJsonSchema()
const editor = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema)

/** Every setting of the schema with its path. */
function settings(node: Node, path = ''): readonly (readonly [string, Node])[] {
  const inside = [node, ...(node.anyOf ?? []), ...(node.items === undefined ? [] : [node.items])]
  return inside.flatMap(({ properties = {} }) =>
    Object.entries(properties).flatMap(([name, inner]) => [
      [`${path}.${name}`, inner] as const,
      ...settings(inner, `${path}.${name}`),
    ]),
  )
}

describe('the JSON Schema for editors', () => {
  test('describes every setting', () => {
    const all = settings(schema)
    expect(all.length).toBeGreaterThan(35)
    expect(all.filter(([, { description }]) => description === undefined)).toEqual([])
  })

  test.each<[string, object]>([
    ['the starter configuration', starterConfiguration],
    ['the smallest configuration', documentWith({})],
    [
      'references to secrets',
      documentWith({ admin: { token: 'env:TOKEN' }, source: { writeKeys: ['@key'] } }),
    ],
  ])('accepts %s', (_name, document) => {
    expect(editor.safeParse(document)).toMatchObject({ success: true })
  })

  test.each<[string, object]>([
    ['an unknown key', documentWith({ destination: { sharedSecert: 'a' } })],
    ['a value of the wrong type', documentWith({ listen: { port: '4000' } })],
    ['a document without sources', {}],
  ])('refuses %s', (_name, document) => {
    expect(editor.safeParse(document)).toMatchObject({ success: false })
  })

  test('is the one that the build ships', async () => {
    const shipped = new URL('../../../dist/evroute.config.schema.json', import.meta.url)
    expect(JSON.parse(await readFile(shipped, 'utf8'))).toEqual(schema)
  })
})
