import type { AliasBody, AliasKeys, AnalyticsEvent, WebhookBody } from '../model/index.ts'

/** A body with all of its fields named, in order; JSON.stringify leaves out what is undefined. */
type Draft<Body> = { readonly [Name in keyof Body]-?: Body[Name] | undefined }

/**
 * Builds the JSON text that an endpoint receives; the `WebhookBody` types say what it holds. It is
 * made once per destination: exactly these bytes are stored, sent and signed.
 *
 * The text is what `JSON.stringify` makes of plain data, so that a receiver that parses it and
 * stringifies it again gets the same bytes.
 */
export function buildWebhookBody(event: AnalyticsEvent, aliasKeys: AliasKeys): string {
  return JSON.stringify(draftBody(event, aliasKeys))
}

function draftBody(call: AnalyticsEvent, aliasKeys: AliasKeys): Draft<WebhookBody> {
  const { type, userId, anonymousId, context, timestamp, messageId } = call
  const { event, name, category, groupId, properties, traits } = call
  const version = 1
  const identity = { userId, anonymousId }
  const rest = { context, timestamp, messageId }
  switch (type) {
    case 'identify':
      return { version, type, ...identity, traits, ...rest }
    case 'track':
      return { version, type, ...identity, event, properties, ...rest }
    case 'page':
    case 'screen':
      return { version, type, ...identity, name, category, properties, ...rest }
    case 'group':
      return { version, type, ...identity, groupId, traits, ...rest }
    case 'alias':
      return { version, type, ...aliasIds(call, aliasKeys), ...rest }
    case 'delete':
      return { type, userId, timestamp }
  }
}

type AliasIds = Pick<Draft<AliasBody>, 'Previous ID' | 'User ID' | 'previousId' | 'userId'>

function aliasIds({ previousId, userId }: AnalyticsEvent, keys: AliasKeys): AliasIds {
  const isSpec = keys !== 'camel'
  const isCamel = keys !== 'spec'
  return {
    'Previous ID': isSpec ? previousId : undefined,
    'User ID': isSpec ? userId : undefined,
    previousId: isCamel ? previousId : undefined,
    userId: isCamel ? userId : undefined,
  }
}
