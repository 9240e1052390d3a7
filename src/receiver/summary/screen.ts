import type { JsonObject } from '../../model/index.ts'
import { part, title, type Phrase } from './part.ts'
import { objectOf, textOf } from './value-text.ts'

/** Formats `“Main” iOS 17.4 · Shop 2.1.0`. */
export function screenPhrases(body: JsonObject): readonly Phrase[] {
  const context = objectOf(body, 'context')
  const system = versionedName(objectOf(context, 'os'))
  const app = versionedName(objectOf(context, 'app'))
  return [
    title(textOf(body, 'name') ?? textOf(objectOf(body, 'properties'), 'name')),
    system,
    system.length > 0 && app.length > 0 ? [part('muted', '·')] : [],
    app,
  ]
}

function versionedName(product: JsonObject): Phrase {
  const words = [textOf(product, 'name'), textOf(product, 'version')].filter(
    (word) => word !== undefined,
  )
  return words.length === 0 ? [] : [part('value', words.join(' '))]
}
