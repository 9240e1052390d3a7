import type { AnalyticsEvent, JsonObject } from '../model/index.ts'
import { difference } from './difference.ts'
import type { FieldName } from './field.ts'
import type { Match, Term } from './match.ts'
import { readMatch } from './parse-match.ts'
import type { Scanner } from './scanner.ts'
import type { Subject } from './subject.ts'

const requestFields: ReadonlySet<FieldName> = new Set(['sig', 'status', 'path', 'bytes'])

const eventKeys: readonly string[] = [
  'type',
  'messageId',
  'userId',
  'anonymousId',
  'previousId',
  'groupId',
  'event',
  'name',
  'category',
  'properties',
  'traits',
  'context',
  'integrations',
  'timestamp',
]

const advice =
  'Use type, event, user, anonymous, previous, group, id, name, category, properties.<key>, traits.<key>, context.<key>, has or a word.'
const bodyAdvice = `Write body.<key> with one of ${eventKeys.join(', ')}.`

/** A match that selects events, for example those that a destination takes. */
export class EventFilter {
  /** The filter in the match language, normalised. */
  readonly text: string
  readonly #match: Match

  /**
   * @param text - a match as in `parseMatch`, but without fields that only a request has, such as `status`
   * @throws MatchError with the position of the mistake, and what is accepted there
   */
  constructor(text: string) {
    this.#match = readMatch(text, { check: checkTerm })
    this.text = this.#match.text
  }

  takes(event: AnalyticsEvent | JsonObject): boolean {
    return this.#match.test(subjectOf(event))
  }

  /** Lists the terms that don't hold for an event: `properties.revenue is 5, the filter wants >10`. */
  whyNot(event: AnalyticsEvent | JsonObject): string {
    return difference(this.#match, subjectOf(event))
      .filter(({ holds }) => !holds)
      .map(
        ({ field, received, expected }) => `${field} is ${received}, the filter wants ${expected}`,
      )
      .join('; ')
  }
}

/** Makes the subject of a match. Fields that events lack get placeholders, because filters have no terms on them. */
function subjectOf(event: AnalyticsEvent | JsonObject): Subject {
  const body = event as JsonObject
  return { body, signature: 'unchecked', status: null, path: '', bytes: 0, atMs: 0 }
}

function checkTerm({ field }: Term, offset: number, scanner: Scanner): void {
  const range = { offset, length: scanner.at - offset }
  if (field.kind === 'named' && requestFields.has(field.name)) {
    scanner.fail(range, `an event has no ${field.name}`, advice)
  }
  if (field.kind !== 'body') return
  const [key = 'body'] = field.keys
  if (!eventKeys.includes(key)) scanner.fail(range, `an event has no ${key}`, bodyAdvice)
}
