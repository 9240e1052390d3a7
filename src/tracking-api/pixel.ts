import type { HttpAnswer } from '../http/index.ts'
import type { JsonObject } from '../model/index.ts'
import { refuse, type Refusal } from './answer.ts'
import type { Document } from './decode-body.ts'

const image = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** The answer to every pixel request, even a refused one: the page that shows the image can't use an error. */
export const pixelAnswer: HttpAnswer = {
  status: 200,
  headers: { 'content-type': 'image/gif', 'cache-control': 'no-store' },
  body: image,
}

/**
 * Reads the query of a pixel request: JSON in base64 in `data`, or fields, with a dot for each nested object. Under
 * `integrations`, true and false become booleans, because the string "false" would turn an integration on.
 */
export function pixelDocument(query: URLSearchParams): Document | Refusal {
  const data = query.get('data')
  if (data === null) return { kind: 'document', value: nestedFields(query), bytes: 0 }
  try {
    // URLSearchParams turned each unescaped plus into a space.
    const text = Buffer.from(data.replaceAll(' ', '+'), 'base64').toString('utf8')
    return { kind: 'document', value: JSON.parse(text) as unknown, bytes: text.length }
  } catch {
    return refuse('invalid_json', 'The data of the pixel is not valid JSON in base64')
  }
}

interface Fields {
  [name: string]: Fields | string | boolean
}

const integrationsPath = /^(?:context\.)?integrations\./

function switchOf(value: string): string | boolean {
  const word = value.toLowerCase()
  return word === 'true' || word === 'false' ? word === 'true' : value
}

function nestedFields(query: URLSearchParams): JsonObject {
  const fields = emptyFields()
  for (const [path, value] of query) {
    const names = path.split('.')
    const last = names.pop() ?? ''
    let level = fields
    for (const name of names) {
      const below = level[name]
      if (typeof below === 'object') level = below
      else level = level[name] = emptyFields()
    }
    level[last] = integrationsPath.test(path) ? switchOf(value) : value
  }
  return fields
}

/** Makes an object without a prototype, so that `__proto__` is an ordinary name. */
function emptyFields(): Fields {
  return Object.create(null) as Fields
}
