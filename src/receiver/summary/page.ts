import { type JsonObject, parseUrl, shortText } from '../../model/index.ts'
import { part, title, type Phrase } from './part.ts'
import { objectOf, textOf } from './value-text.ts'

/** Formats `/pricing “Pricing” ← google.com`. */
export function pagePhrases(body: JsonObject): readonly Phrase[] {
  const properties = objectOf(body, 'properties')
  const path = textOf(properties, 'path') ?? urlOf(properties, 'url')?.pathname
  const referrer = urlOf(properties, 'referrer')?.host ?? textOf(properties, 'referrer')
  return [
    path === undefined ? [] : [part('value', shortText(path))],
    title(textOf(properties, 'title') ?? textOf(body, 'name')),
    referrer === undefined || referrer === ''
      ? []
      : [part('arrow', '← '), part('value', shortText(referrer))],
  ]
}

function urlOf(properties: JsonObject, field: string): URL | undefined {
  const text = properties[field]
  return typeof text === 'string' ? parseUrl(text) : undefined
}
