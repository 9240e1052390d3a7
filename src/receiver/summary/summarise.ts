import {
  parseUrl,
  shortText,
  type EventType,
  type JsonObject,
  type JsonValue,
} from '../../model/index.ts'
import { aliasPhrases, groupPhrases, identifyPhrases } from './changes.ts'
import type { SummaryMemory } from './memory.ts'
import { id, joinPhrases, pair, part, title, type Phrase, type SummaryPart } from './part.ts'
import { objectOf, textOf, valueText } from './value-text.ts'

/** Types whose summary depends on earlier webhooks. */
export const typesOfMemory: ReadonlySet<EventType> = new Set([
  'identify',
  'group',
  'alias',
  'delete',
])

/** A body and its type, such as a received webhook. */
export interface Summarisable {
  readonly type: EventType
  /** The parsed body. Its fields may have any type. */
  readonly body: JsonObject
}

/**
 * Summarises a webhook in one line. Callers show the type and the user beside the line. Only the lines of alias, group
 * and delete repeat the user.
 *
 * Never throws. Removes control characters from texts of the body, and shortens them to 60 characters.
 *
 * @param memory - the memory of earlier summaries, to which this webhook is added
 */
export function summarise(webhook: Summarisable, memory: SummaryMemory): readonly SummaryPart[] {
  return joinPhrases(phrasesOf(webhook, memory))
}

function phrasesOf({ type, body }: Summarisable, memory: SummaryMemory): readonly Phrase[] {
  switch (type) {
    case 'identify':
      return identifyPhrases(body, memory)
    case 'track':
      return trackPhrases(body)
    case 'page':
      return pagePhrases(body)
    case 'screen':
      return screenPhrases(body)
    case 'group':
      return groupPhrases(body, memory)
    case 'alias':
      return aliasPhrases(body, memory)
    case 'delete':
      return [[part('warning', '⚠ delete user')], [id(textOf(body, 'userId'))]]
  }
}

const shownPropertiesMax = 3

/** The most important properties of an event, in order. Case and separators of their keys don't matter. */
const importantKeys = [
  'revenue',
  'total',
  'value',
  'price',
  'currency',
  'orderid',
  'products',
  'product',
  'productid',
  'name',
  'quantity',
  'plan',
  'category',
  'query',
  'coupon',
]

/** Formats `“Order Completed” revenue=39.95 products=3`. */
function trackPhrases(body: JsonObject): readonly Phrase[] {
  const shown = Object.entries(objectOf(body, 'properties'))
    .filter(([, value]) => value !== '' && (typeof value !== 'object' || Array.isArray(value)))
    .toSorted(([one], [other]) => rank(one) - rank(other))
    .slice(0, shownPropertiesMax)
  return [
    title(textOf(body, 'event')),
    ...shown.map(([key, value]) => pair(shortText(key), propertyText(value))),
  ]
}

function propertyText(value: JsonValue | undefined): string {
  return Array.isArray(value) ? String(value.length) : valueText(value)
}

function rank(key: string): number {
  const index = importantKeys.indexOf(key.toLowerCase().replace(/[^a-z]/g, ''))
  return index === -1 ? importantKeys.length : index
}

/** Summarises a page call, as in `/pricing “Pricing” ← google.com`. */
function pagePhrases(body: JsonObject): readonly Phrase[] {
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

/** Summarises a screen call, as in `“Main” iOS 17.4 · Shop 2.1.0`. */
function screenPhrases(body: JsonObject): readonly Phrase[] {
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
