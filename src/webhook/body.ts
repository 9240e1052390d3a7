import type { AliasKeys, AnalyticsEvent, CallType } from '../model/index.ts'

type FieldName = keyof AnalyticsEvent

/** The fields of each type, in the order of the body; a field that the event lacks is left out. */
const fieldsOf: Readonly<Record<Exclude<CallType, 'alias'>, readonly FieldName[]>> = {
  identify: ['userId', 'anonymousId', 'traits'],
  track: ['userId', 'anonymousId', 'event', 'properties'],
  page: ['userId', 'anonymousId', 'name', 'category', 'properties'],
  screen: ['userId', 'anonymousId', 'name', 'category', 'properties'],
  group: ['userId', 'anonymousId', 'groupId', 'traits'],
}

/**
 * Builds the JSON text that an endpoint receives; the `WebhookBody` types say what it holds. It is
 * made once per destination: exactly these bytes are stored, sent and signed.
 *
 * The text is what `JSON.stringify` makes of plain data, so that a receiver that parses it and
 * stringifies it again gets the same bytes.
 */
export function buildWebhookBody(event: AnalyticsEvent, aliasKeys: AliasKeys): string {
  const { type, userId, context, timestamp, messageId } = event
  if (type === 'delete') return JSON.stringify({ type, userId, timestamp })
  const own = type === 'alias' ? aliasIds(event, aliasKeys) : pick(event, fieldsOf[type])
  return JSON.stringify({ version: 1, type, ...own, context, timestamp, messageId })
}

/** A field that the event lacks becomes undefined, which JSON.stringify leaves out. */
function pick(event: AnalyticsEvent, names: readonly FieldName[]): object {
  return Object.fromEntries(names.map((name) => [name, event[name]]))
}

function aliasIds({ previousId, userId }: AnalyticsEvent, keys: AliasKeys): object {
  switch (keys) {
    case 'spec':
      return { 'Previous ID': previousId, 'User ID': userId }
    case 'camel':
      return { previousId, userId }
    case 'both':
      return { 'Previous ID': previousId, 'User ID': userId, previousId, userId }
  }
}
