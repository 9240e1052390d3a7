import { type JsonObject, type JsonValue, shortText } from '../../model/index.ts'
import { pair, title, type Phrase } from './part.ts'
import { objectOf, textOf, valueText } from './value-text.ts'

const shownMax = 3

/** The most important properties of an event, in order. Case and separators of their keys don't matter. */
const tellingKeys = [
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
export function trackPhrases(body: JsonObject): readonly Phrase[] {
  const telling = Object.entries(objectOf(body, 'properties'))
    .filter(([, value]) => tells(value))
    .toSorted(([one], [other]) => rank(one) - rank(other))
    .slice(0, shownMax)
  return [
    title(textOf(body, 'event')),
    ...telling.map(([key, value]) => pair(shortText(key), propertyText(value))),
  ]
}

function tells(value: JsonValue | undefined): boolean {
  return value !== '' && (typeof value !== 'object' || Array.isArray(value))
}

/** Formats the value of a property; a list as its length. */
function propertyText(value: JsonValue | undefined): string {
  return Array.isArray(value) ? String(value.length) : valueText(value)
}

function rank(key: string): number {
  const index = tellingKeys.indexOf(key.toLowerCase().replace(/[^a-z]/g, ''))
  return index === -1 ? tellingKeys.length : index
}
