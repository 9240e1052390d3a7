import type { AliasBody, AliasKeys, AnalyticsEvent, WebhookBody } from '../model/index.ts'

/** A body with every field present. JSON.stringify omits those that are undefined. */
type Draft<Body> = { readonly [Name in keyof Body]-?: Body[Name] | undefined }

/**
 * Builds the JSON text that an endpoint receives. Exactly these bytes are stored, signed and sent. A receiver gets the
 * same bytes from `JSON.stringify(JSON.parse(body))`.
 */
export function buildWebhookBody(event: AnalyticsEvent, aliasKeys: AliasKeys): string {
  return JSON.stringify(draftBody(event, aliasKeys))
}

/** Lists every field, because spreading objects would take several times as long. */
function draftBody(call: AnalyticsEvent, aliasKeys: AliasKeys): Draft<WebhookBody> {
  const { type, userId, anonymousId, context, timestamp, messageId } = call
  const { event, name, category, groupId, properties, traits } = call
  const version = 1
  switch (type) {
    case 'identify':
      return { version, type, userId, anonymousId, traits, context, timestamp, messageId }
    case 'track':
      return {
        version,
        type,
        userId,
        anonymousId,
        event,
        properties,
        context,
        timestamp,
        messageId,
      }
    case 'page':
    case 'screen':
      return {
        version,
        type,
        userId,
        anonymousId,
        name,
        category,
        properties,
        context,
        timestamp,
        messageId,
      }
    case 'group':
      return { version, type, userId, anonymousId, groupId, traits, context, timestamp, messageId }
    case 'alias':
      return { version, type, ...aliasIds(call, aliasKeys), context, timestamp, messageId }
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
