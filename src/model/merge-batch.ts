import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'

/** What a batch says for all of its calls. */
export interface BatchDefaults {
  /** Goes under the context of each call. */
  readonly context?: JsonObject
  /** Goes under the integrations of each call. */
  readonly integrations?: JsonObject
}

/** UTF-8 bytes, as JSON, of what a batch says for all of its calls. It must not be nested too deeply. */
export function batchDefaultsBytes({ context, integrations }: BatchDefaults): number {
  return jsonBytes(context) + jsonBytes(integrations)
}

/**
 * Makes the function that puts a batch's context and integrations under those of a call, which wins
 * key by key at the top level. Integrations in a context count, in the call and in the batch, where
 * there are no others. What is no object in the call stays as it is, for the check of the call to
 * refuse. What the calls do not change they share, and a call to which nothing is added is given back as
 * it is: nothing of either is copied.
 */
export function batchMerger(batch: BatchDefaults): (call: JsonObject) => JsonObject {
  const shared = liftIntegrations({ ...batch })
  return (call) => {
    const own = liftIntegrations(call)
    const context = under(shared['context'], own['context'])
    const integrations = under(shared['integrations'], own['integrations'])
    if (context === own['context'] && integrations === own['integrations']) return own
    const merged: Record<string, JsonValue | undefined> = { ...own }
    if (context !== undefined) merged['context'] = context
    if (integrations !== undefined) merged['integrations'] = integrations
    return merged
  }
}

/**
 * Moves `context.integrations`, where some clients write them, to the top level. They are dropped
 * where the top level has its own, or when they are no object.
 */
export function liftIntegrations(call: JsonObject): JsonObject {
  const { context } = call
  if (!isJsonObject(context) || !Object.hasOwn(context, 'integrations')) return call
  const { integrations: nested, ...rest } = context
  const lifted = { ...call, context: rest }
  const isNeeded = isJsonObject(nested) && (call['integrations'] ?? null) === null
  return isNeeded ? { ...lifted, integrations: nested } : lifted
}

function under(shared: JsonValue | undefined, own: JsonValue | undefined): JsonValue | undefined {
  if (own === undefined || own === null) return shared ?? own
  return isJsonObject(shared) && isJsonObject(own) ? { ...shared, ...own } : own
}

function jsonBytes(value: JsonObject | undefined): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))
}
